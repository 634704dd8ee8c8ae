// SPDX-License-Identifier: Apache-2.0

// Package link is the way of one process to the API server, and breaks it when it is told.
//
//	process ── TLS ──▶ connections ──▶ mishaps ──▶ reverse proxy ──▶ API server
//	                   Cut, Hang        5 in 100     Expire: the watches end with 410
//
// The bearer token of the process goes on with each request: the server, and its audit log,
// see who has asked. What is lost is lost after the server has done it, or before.
//
// It knows nothing of Slipway.
package link
