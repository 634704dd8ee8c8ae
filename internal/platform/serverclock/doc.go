// SPDX-License-Identifier: Apache-2.0

// Package serverclock has the time of the API server.
//
//	the Date of each answer + the times of the request and the answer ─▶ Clock ─▶ Now
//
// Kubernetes' API server refuses the status of an Eviction with times that differ from its time by more than 30 s: a
// process on a machine with a wrong clock could not write such a status. So the machine's clock counts while the
// server's answers agree with it, within a few seconds; otherwise the server's clock counts, until they agree again.
// The package sends no request. It reads the answers to other requests.
//
// It is only for times that the server judges: unlike the machine's monotonic clock, it may go back by the error of the
// machine's clock.
package serverclock
