// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// job is one run for one event, and what is to be said about it.
type job struct {
	call      Call
	cancelRun context.CancelCauseFunc
	hasEnded  chan struct{}
	// generation of the event that has the parameters of call. background.mu guards it.
	generation int64

	mu       sync.Mutex
	latest   Answer
	version  int           // of latest
	told     int           // the version that was answered last
	changed  chan struct{} // closed, and made anew, with each change
	canceled error         // why the run was told to stop; nil: it was not
	ended    bool
	failure  error
	// abandon ends the run when no call has come for it.
	abandon clock.Timer
}

// begin starts a run. Its ctx has the call's logger, and outlives the call.
func (b *background) begin(ctx context.Context, call Call, before *job) *job {
	runCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	call.Wait = 0
	j := &job{
		call:       call,
		cancelRun:  cancel,
		hasEnded:   make(chan struct{}),
		generation: call.ParametersGeneration,
		changed:    make(chan struct{}),
	}
	j.continueFrom(before)
	j.abandon = b.clock.AfterFunc(AbandonedAfter, func() { j.cancel(ErrAbandoned) })
	// The goroutine is waited for by whoever cancels it: Stop, Close, a newer call.
	go func() {
		defer close(j.hasEnded)
		defer cancel(nil)
		err := errNoReturn
		defer func() { j.finish(runCtx, err) }()
		err = j.do(runCtx, b.run)
	}()
	return j
}

// continueFrom takes over what was said about the same event before.
func (j *job) continueFrom(before *job) {
	if before == nil || before.call.EventUID != j.call.EventUID || !j.call.hasUID() {
		return
	}
	before.mu.Lock()
	defer before.mu.Unlock()
	// What was not told of the older run is not told any more: it is not about these parameters.
	j.latest, j.version, j.told = before.latest, before.version, before.version
}

// errNoReturn is what a run ends with that calls runtime.Goexit.
var errNoReturn = errors.New("the run ended without returning")

func (j *job) do(ctx context.Context, run RunFunc) (err error) {
	defer func() { err = recovered(ctx, recover(), err) }()
	return run(ctx, j.call, j.report)
}

// report keeps what the run says. After the run was canceled it is of no interest.
func (j *job) report(answer Answer) {
	answer.Done, answer.Waits = false, false
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended || reflect.DeepEqual(answer, j.latest) {
		return
	}
	j.latest = answer
	j.version++
	j.signal()
}

func (j *job) finish(ctx context.Context, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended = true
	j.abandon.Stop()
	j.cancelRun = nil // with it goes the context of the call, which is larger than the rest
	if j.canceled != nil {
		klog.FromContext(ctx).V(1).Info("The run has stopped", "cause", j.canceled.Error(), "result", fmt.Sprint(err))
	} else {
		j.failure = err
	}
	j.signal()
}

// cancel tells the run to stop, unless it has ended or was told before.
func (j *job) cancel(cause error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended || j.canceled != nil {
		return
	}
	j.canceled = cause
	j.cancelRun(cause)
}

// keep lets the run go on for as long as after its first call.
func (j *job) keep() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.ended {
		j.abandon.Reset(AbandonedAfter)
	}
}

// awaitEnd waits until the run has returned.
func (j *job) awaitEnd(ctx context.Context) error {
	select {
	case <-j.hasEnded:
		return nil
	default:
	}
	select {
	case <-j.hasEnded:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: the work for event %s is still being stopped", ErrTryAgain, j.call.Event)
	}
}

// hold returns when there is something to say that was not said before, or when wait
// is over. It fails when ctx has ended: then nobody hears the answer.
func (j *job) hold(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		news, changed := j.news()
		if news || wait <= 0 {
			return nil
		}
		select {
		case <-changed:
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrTryAgain, context.Cause(ctx))
		}
	}
}

// news says whether there is something new, and gives what to wait for if not: both
// under one lock, so that no change falls in between.
func (j *job) news() (bool, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ended || j.version != j.told, j.changed
}

// signal wakes all that hold an answer. The lock is held.
func (j *job) signal() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// answer is what is to be said now.
func (j *job) answer() (Answer, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.told = j.version
	answer := j.latest
	answer.Waits = true
	switch {
	case !j.ended:
		return answer, nil
	case j.canceled != nil:
		return answer, fmt.Errorf("%w: %w", ErrTryAgain, j.canceled)
	case j.failure != nil:
		return answer, j.failure
	default:
		answer.Done = true
		return answer, nil
	}
}

// lastAnswer is the answer to Stop, where it is no failure that the run was canceled.
func (j *job) lastAnswer() (Answer, error) {
	answer, err := j.answer()
	if j.isCanceled() {
		return answer, nil
	}
	return answer, err
}

func (j *job) isCanceled() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.canceled != nil
}

func (j *job) over() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ended
}
