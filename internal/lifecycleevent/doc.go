// SPDX-License-Identifier: Apache-2.0

// Package lifecycleevent is the shared base of all packages that decide about LifecycleEvents: order, phase, claimer and
// conditions of events, and the names of Slipway's own transitions. It is pure.
//
// Below it, package decision defines the answer of a decision (one step, or the time of the next decision), and package
// record is the only writer of events.
package lifecycleevent
