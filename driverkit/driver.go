// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"errors"
)

// Driver carries out transitions of one node. The agent of the node calls it over
// [Serve], one event at a time; it may still call for one event while an older call
// for the same event has not returned, after that call's deadline for example.
//
// An error that is returned ends the event as Failed, for good. Passing trouble, such
// as an API server that cannot be reached, is not an error: work on, and say so in
// the answer's message. Where there is nothing to answer, return an error that wraps
// [ErrTryAgain]; the same is understood when ctx has ended. A panic ends the event as
// Failed as well: its stack is logged, and the driver goes on. (It is not raised
// again, because the restarted driver would be asked for the same event and panic
// again, and because a driver may share its process with others.)
//
// Every ctx carries a logger that names the event (klog.FromContext).
type Driver interface {
	// Start is called once the event has been claimed, and begins the work. It must
	// return quickly: the agent gives it 45 s. Its answer means that the start state
	// has begun, or with Done that the end state has been reached already.
	//
	// Start is called again for the same event when the answer was lost, or when the
	// agent restarted meanwhile: it must be idempotent.
	Start(ctx context.Context, call Call) (Answer, error)

	// End is called after Start, again and again, until it answers Done. It says how
	// far the work is. Without call.Wait it answers at once; with call.Wait it may
	// hold its answer for that long, as Answer.Waits describes.
	//
	// End is the first call for an event when the driver restarted after Start: it
	// must then take up the work from what the cluster shows. It may bring newer
	// parameters than Start did (Call.ParametersGeneration).
	End(ctx context.Context, call Call) (Answer, error)

	// Stop is the last call for an event whose deadline has passed, or which was
	// canceled. When it returns, nothing must be going on for that event any more. It
	// is called for events that the driver does not know (because it restarted), and
	// again when its answer was lost: it must be idempotent. An event that Stop has
	// not been called for is over as well once Start or End is called for another.
	Stop(ctx context.Context, call Call) (Answer, error)
}

// Closer is implemented by a Driver that has something to end when [Serve] ends.
type Closer interface {
	// Close is called once, after the driver's registration is gone and while calls
	// may still be going on. It returns when all work has ended, or when ctx has.
	Close(ctx context.Context) error
}

// ErrTryAgain in an error of a [Driver] means: ask again. The event goes on.
var ErrTryAgain = errors.New("try again")

// ErrForeignTransition means that a transition that was to be published exists and
// belongs to another driver.
var ErrForeignTransition = errors.New("the transition belongs to another driver")

// The causes (context.Cause) for which the context of a [RunFunc] ends.
var (
	// ErrStopped: the deadline of the event has passed, or it was canceled.
	ErrStopped = errors.New("the event was stopped")
	// ErrReplaced: another event of the node has begun.
	ErrReplaced = errors.New("another event has begun")
	// ErrParametersChanged: the event has new parameters. The run is started again
	// with them as soon as it has returned.
	ErrParametersChanged = errors.New("the parameters of the event have changed")
	// ErrAbandoned: nobody has called for the event for [AbandonedAfter]. The run is started
	// again with the next call.
	ErrAbandoned = errors.New("nobody asks for the event any more")
	// ErrShutdown: the driver process ends. The event goes on when it is back.
	ErrShutdown = errors.New("the driver is shutting down")
)
