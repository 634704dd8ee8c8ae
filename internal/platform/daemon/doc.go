// SPDX-License-Identifier: Apache-2.0

// Package daemon is what all processes of Slipway start with: logging, signals and
// the flags for the API server.
//
//	flags, signals ── Main ──▶ ctx with a logger ──▶ the process
//
// It knows nothing of what the processes do.
package daemon
