// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"errors"
)

// Driver executes the transitions of one node. The agent of the node calls it through
// [Serve], for one event at a time. A call may begin while an older call for the same event
// has not returned, for example after the older call's deadline.
//
// An error ends the event as Failed, permanently. A temporary problem, such as an
// unreachable API server, is not an error: continue, and report it in the answer's message.
// If there is no answer yet, return an error that wraps [ErrTryAgain]; the kit treats an
// ended ctx in the same way. A panic also ends the event as Failed: the kit logs its stack,
// and the driver continues. (The kit does not raise it again, because the restarted driver
// would get the same event and panic again, and because a driver may share its process with
// other drivers.)
//
// Every ctx carries a logger that names the event (klog.FromContext).
type Driver interface {
	// Start begins the work. The agent calls it once after the claim of the event. It must
	// return quickly: the agent waits for 45 s. Its answer means that the start state has
	// begun, or with Done that the end state is already reached.
	//
	// The agent calls Start again for the same event if the answer was lost, or if the
	// agent has restarted: Start must be idempotent.
	Start(ctx context.Context, call Call) (Answer, error)

	// End reports the progress. The agent calls it after Start, repeatedly, until the
	// answer is Done. Without call.Wait it answers at once; with call.Wait it may delay its
	// answer for that time, as Answer.Waits describes.
	//
	// After a restart of the driver, End is the first call for an event: it must then
	// continue from the state of the cluster. It may have newer parameters than Start
	// (Call.ParametersGeneration).
	End(ctx context.Context, call Call) (Answer, error)

	// Stop is the last call for an event whose deadline has passed, or which was canceled.
	// After its return, no work may continue for that event. The agent also calls it for
	// events that are unknown to the driver (after a restart), and again if its answer was
	// lost: it must be idempotent. An event without a Stop has also ended when Start or End
	// arrives for another event.
	Stop(ctx context.Context, call Call) (Answer, error)
}

// Closer is an optional interface of a Driver that must end work when [Serve] ends.
type Closer interface {
	// Close is called once, after the removal of the driver's registration. Calls may still
	// be in progress. It returns when all work has ended, or when ctx has ended.
	Close(ctx context.Context) error
}

// ErrTryAgain in an error of a [Driver] makes the agent call again. The event continues.
var ErrTryAgain = errors.New("try again")

// ErrForeignTransition means that a transition of the driver already exists and belongs to
// another driver.
var ErrForeignTransition = errors.New("the transition belongs to another driver")

// The causes (context.Cause) for which the context of a [RunFunc] ends.
var (
	// ErrStopped means that the deadline of the event has passed, or that the event was
	// canceled.
	ErrStopped = errors.New("the event was stopped")
	// ErrReplaced means that another event of the node has begun.
	ErrReplaced = errors.New("another event has begun")
	// ErrParametersChanged means that the event has new parameters. The run starts again
	// with them after it has returned.
	ErrParametersChanged = errors.New("the parameters of the event have changed")
	// ErrAbandoned means that no call for the event has arrived for [AbandonedAfter]. The
	// run starts again with the next call.
	ErrAbandoned = errors.New("no call for the event has arrived for a while")
	// ErrShutdown means that the driver process ends. The event continues after its
	// restart.
	ErrShutdown = errors.New("the driver is shutting down")
)
