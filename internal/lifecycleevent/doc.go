// SPDX-License-Identifier: Apache-2.0

// Package lifecycleevent has what all packages that decide about LifecycleEvents share: their order,
// their phase, how a condition is set, the names of Slipway's own transitions. It is pure.
//
// Below it, decision is the answer of what decides (one step, or when to ask again), and
// record is the only writer of events.
package lifecycleevent
