// SPDX-License-Identifier: Apache-2.0

// Package serverclock tells the time of the API server.
//
//	the Date of each answer + when it was asked for and came ─▶ Clock ─▶ Now
//
// A process writes times that others judge by theirs: Kubernetes' API server refuses the status
// of an Eviction whose times are more than 30 s from its own, leases run out, deadlines pass. On
// a machine whose clock is wrong, a process that went by it would stand still, or hurry. So the
// machine's clock counts as long as the server's answers agree with it, within a few seconds;
// where they do not, the server's does, until they agree again. Nothing is asked for: the
// answers that come anyway are looked at.
package serverclock
