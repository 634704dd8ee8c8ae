// SPDX-License-Identifier: Apache-2.0

// Package proc reads from /proc what processes and the machine have used.
//
//	/proc/PID/status, /proc/PID/stat, /proc/stat, … ─▶ numbers
package proc
