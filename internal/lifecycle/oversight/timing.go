// SPDX-License-Identifier: Apache-2.0

package oversight

import "time"

const (
	// NodeTimeout limits the wait for a Node that does not exist: it may be about to register.
	NodeTimeout = 60 * time.Second
	// DeadAfter is the time between the first sign of an agent's loss and its treatment as dead. A rolling update, or a
	// restart, takes less. It is also the time between condition Stalled of a silent agent and the end of its event (endsAt).
	// docs/status-and-conditions.md states it.
	DeadAfter = 40 * time.Second
	// DeadlineGrace extends the deadline of an event whose agent is dead: an agent that works after all ends the event first,
	// and informs the driver.
	DeadlineGrace = 30 * time.Second
	// SilentAfter limits the time between the deadline, or the deletion, of an event and its end by a Ready agent. A working
	// agent needs some seconds. The clock of the node sets deadlines: an agent whose clock is this late counts as silent.
	SilentAfter = 2 * time.Minute
	// UnmarkAfter is the time between the deregistration of a central driver and the end of the mark on its transitions. A
	// driver that restarts, or a new leader, registers earlier.
	UnmarkAfter = 5 * time.Second
	// CancelAfter limits the time for which an event is both canceled and stalled: after it, no agent is expected to undo the
	// event's cordon.
	CancelAfter = 2 * time.Minute
)
