// SPDX-License-Identifier: Apache-2.0

// Package hold knows the holds of actors on a node (NodeHold): what the hold of an event contains, and which events
// release it.
//
//	LifecycleEvent that takes a node out ── New ──▶ NodeHold
//	LifecycleEvent that returns a node   ── ReleasedBy ──▶ the holds that it releases
//
// It is pure. lifecycle/oversight decides about creation and deletion, lifecycle/central performs them, and maintenance
// waits for the holds of users.
package hold
