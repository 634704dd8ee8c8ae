// SPDX-License-Identifier: Apache-2.0

// Package link is the connection of one process to the API server, and breaks it when a test requests that.
//
//	process ── TLS ──▶ connections ──▶ mishaps ──▶ reverse proxy ──▶ API server
//	                   Cut, Hang        5 in 100     Expire: the watches end with 410
//
// The link forwards the bearer token of the process with each request, so the server, and its audit log, see the user.
// It loses a request before the server has it, or the answer afterwards.
//
// The package does not know Slipway.
package link
