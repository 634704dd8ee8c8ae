// SPDX-License-Identifier: Apache-2.0

// Package plan says what a run of the fault suite does, all of it before it begins.
//
//	seed, number of drains ── Of ──▶ Plan: rounds ─┬─ jobs: what is asked for, of which nodes
//	                                               └─ faults: what goes wrong, when what has happened
//
// The same seed gives the same plan, so that a run that has failed can be made again. It is
// pure: no clock, no cluster. When a fault comes is said in what has been seen (the second
// eviction of the round), never in seconds.
package plan
