// SPDX-License-Identifier: Apache-2.0

package oversight

import "time"

const (
	// NodeTimeout is how long an event waits for a Node that does not exist: it may be
	// about to register.
	NodeTimeout = 60 * time.Second
	// DeadAfter is how long an agent may be lost before it counts as dead, from when the
	// controller has seen it first. It takes a rolling update, or a restart, less.
	DeadAfter = 40 * time.Second
	// DeadlineGrace is how much longer than its deadline an event of a dead agent goes
	// on: one that is alive after all ends it first, and tells the driver.
	DeadlineGrace = 30 * time.Second
	// SilentAfter is how long after its deadline, or its deletion, an event of an agent
	// that is Ready may stay claimed. An agent that works needs some seconds. Deadlines are
	// written by the clock of the node: one that is this far behind is taken for silent.
	SilentAfter = 2 * time.Minute
	// CancelAfter is how long an event may be both canceled and stalled: then nobody is
	// expected to undo its cordon any more.
	CancelAfter = 2 * time.Minute
)
