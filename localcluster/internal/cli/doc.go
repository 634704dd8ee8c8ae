// SPDX-License-Identifier: Apache-2.0

// Package cli is the launcher's command line: it parses, calls package cluster, and prints.
package cli
