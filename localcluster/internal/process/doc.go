// SPDX-License-Identifier: Apache-2.0

// Package process starts processes that outlive their starter, recognizes them again later,
// and stops them.
//
// A process ID alone does not identify a process, because the kernel reuses IDs. Identity adds
// when the process started, in which boot of the machine. A signal is sent only to the process
// whose identity was recorded.
package process
