// SPDX-License-Identifier: Apache-2.0

// Command bench measures Slipway on separate local clusters:
//
//	drain      how long drains take, against kubectl and an ideal evictor
//	compare    drains by two builds of Slipway, in turns
//	cost       what an agent takes on its node
//	evictions  what many EvictionRequests at once take
//	scale      what a large cluster takes, in both modes
//	mixed      what hours of mixed load leave behind
//
// All of them use one testbed (internal/testbed), meters (internal/meter) and reports (internal/report).
// Numbers in docs/performance.md and docs/scale.md are generated, never typed.
package main
