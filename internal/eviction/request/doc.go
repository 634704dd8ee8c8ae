// SPDX-License-Identifier: Apache-2.0

// Package request decides about EvictionRequests (KEP-4563): one Eviction for each target, one responder after the
// other, and the reports of the requests.
//
//	target pod, its EvictionRequests, its Evictions ── Next ──▶ one step, or when to decide again
//
// Next derives a view from the facts once, and then takes one of these ways:
//
//	doubtful   what was written would be revoked: the requests are confirmed first
//	discard    no requests: their Evictions are ended and deleted
//	drive      an Eviction runs: the next responder has its turn, or the Eviction ends
//	begin      none runs, and none is over: an Eviction is created
//	report     the outcome is written to each request
//
// facts.go has the facts, the view and the deadlines; eviction.go the responders and their
// order, and the name, labels and owners of an Eviction; status.go the active responder,
// the take-over from a silent one, and the outcomes.
//
// It decides as the evictionrequest-controller of the KEP, by the types that Kubernetes 1.37 ships
// (k8s.io/api/lifecycle/v1alpha1), which win where the KEP's text differs. It makes no decision that the
// server's validation of these types refuses: the server prescribes the order of the responders, and each change of
// their states.
//
// It is pure: no client, no clock, no goroutine. A crash after any step leads to the same end.
package request
