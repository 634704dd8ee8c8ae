// SPDX-License-Identifier: Apache-2.0

// Package daemon starts the processes of Slipway: logging, signals and the flags for the API server.
//
//	flags, signals ── Main ──▶ ctx with a logger ──▶ the process
//
// It has no knowledge of their work.
package daemon
