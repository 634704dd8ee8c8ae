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

// job is one run for one event, and its reports.
type job struct {
	call      Call
	cancelRun context.CancelCauseFunc
	hasEnded  chan struct{}
	// generation of the event that has the parameters of call. background.mu guards it.
	generation int64

	mu       sync.Mutex
	latest   Answer
	version  int           // of latest
	answered int           // the version in the last answer
	changed  chan struct{} // closed, and replaced, after each change
	canceled error         // the cause of the cancellation; nil: not canceled
	ended    bool
	failure  error
	// abandon ends the run when no call has arrived for it.
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
	// Stop, Close or a newer call cancels the goroutine and waits for it.
	go func() {
		defer close(j.hasEnded)
		defer cancel(nil)
		err := errNoReturn
		defer func() { j.finish(runCtx, err) }()
		err = j.do(runCtx, b.run)
	}()
	return j
}

// continueFrom takes the reports of the previous run for the same event.
func (j *job) continueFrom(before *job) {
	if before == nil || before.call.EventUID != j.call.EventUID || !j.call.hasUID() {
		return
	}
	before.mu.Lock()
	defer before.mu.Unlock()
	// Reports of the older run that were not sent yet are outdated: they are about other
	// parameters.
	j.latest, j.version, j.answered = before.latest, before.version, before.version
}

// errNoReturn is the result of a run that calls runtime.Goexit.
var errNoReturn = errors.New("the run ended without returning")

func (j *job) do(ctx context.Context, run RunFunc) (err error) {
	defer func() { err = recovered(ctx, recover(), err) }()
	return run(ctx, j.call, j.report)
}

// report keeps the latest report of the run. It ignores reports after the cancellation.
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
	j.cancelRun = nil // releases the context of the call, which is large
	if j.canceled != nil {
		klog.FromContext(ctx).V(1).Info("The run has stopped", "cause", j.canceled.Error(), "result", fmt.Sprint(err))
	} else {
		j.failure = err
	}
	j.signal()
}

// cancel cancels the run, unless it has ended or is canceled already.
func (j *job) cancel(cause error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended || j.canceled != nil {
		return
	}
	j.canceled = cause
	j.cancelRun(cause)
}

// keep extends the run by the time that it has after its first call.
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

// hold returns when there is a new report, or after wait. It fails when ctx has ended,
// because the answer then has no recipient.
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

// news reports whether there is a new report, and otherwise returns a channel to wait for.
// It takes both under one lock, so that it misses no change.
func (j *job) news() (bool, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ended || j.version != j.answered, j.changed
}

// signal wakes all calls that wait for a new report. The caller holds the lock.
func (j *job) signal() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// answer returns the current answer.
func (j *job) answer() (Answer, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.answered = j.version
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

// lastAnswer returns the answer to Stop, for which the cancellation of the run is no
// failure.
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
