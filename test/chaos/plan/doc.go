// SPDX-License-Identifier: Apache-2.0

// Package plan plans a run of the fault suite before it begins.
//
//	seed, number of drains ── New ─▶ Plan: rounds ─┬─ jobs: requests for nodes
//	                                               └─ faults, each after a number of observations
//
// The same seed gives the same plan, so that a run that has failed can be made again. It is
// pure: no clock, no cluster. A fault comes after an observation (the second eviction of the round), never after a
// number of seconds.
package plan
