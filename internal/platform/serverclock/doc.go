// SPDX-License-Identifier: Apache-2.0

// Package serverclock tells the time of the API server.
//
//	the Date of each answer + when it was asked for and came ─▶ Clock ─▶ Now
//
// Kubernetes' API server refuses the status of an Eviction with times that are more than 30 s
// from its own: on a machine whose clock is wrong, who writes such a status would get nowhere. So
// the machine's clock counts as long as the server's answers agree with it, within a few seconds;
// where they do not, the server's does, until they agree again. Nothing is asked for: the
// answers that come anyway are looked at.
//
// It is for times that the server judges, and no others: it may go back by as much as the
// machine's clock was wrong, which the machine's own measure of what has passed does not.
package serverclock
