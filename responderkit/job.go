// SPDX-License-Identifier: Apache-2.0

package responderkit

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// job is one run for one Eviction, and its reports.
type job struct {
	responder string
	clock     clock.Clock
	evictions evictions
	// uid is the UID of the Eviction, pod the UID of its pod.
	uid, pod types.UID

	cancelRun context.CancelCauseFunc
	changed   chan struct{} // receives a value after each change
	over      chan struct{} // closed when run and updates have ended

	mu       sync.Mutex
	seen     *evictionv1alpha1.Eviction // the newest
	progress Progress
	stopped  error // the cause of the stop; nil: not stopped
	returned bool
	failure  error
	beat     time.Time
	followed bool // a change was written since the last heartbeat
	complete bool // the completion was written
}

// newJob returns a job that has not begun.
func newJob(responder string, c clock.Clock, server evictions, e *evictionv1alpha1.Eviction) *job {
	j := &job{
		responder: responder, clock: c, evictions: server,
		uid: e.UID, pod: e.Spec.Target.Pod.UID, seen: e,
		changed: make(chan struct{}, 1), over: make(chan struct{}),
	}
	entry := entryOf(responder, e)
	j.progress.Message = text(entry.Message)
	if entry.ExpectedCompletionTime != nil {
		j.progress.ExpectedCompletion = entry.ExpectedCompletionTime.Time
	}
	return j
}

// begin starts the run, and the goroutine that updates its entry. Both end after stop, or
// when the run has returned and its completion was written; then ended is called.
func (j *job) begin(ctx context.Context, run func(context.Context, func(Progress)) error, ended func()) {
	// stop ends the run, with a cause; the end of ctx does not.
	ctx, j.cancelRun = context.WithCancelCause(context.WithoutCancel(ctx))
	go func() {
		err := errNoReturn
		defer func() { j.finish(ctx, err) }()
		err = guarded(ctx, func() error { return run(ctx, j.report) })
	}()
	// The caller of stop waits for over.
	go func() {
		defer ended()
		defer close(j.over)
		defer j.cancelRun(nil)
		j.keep(ctx)
	}()
}

// errNoReturn is the result of a run that calls runtime.Goexit.
var errNoReturn = errors.New("the run ended without returning")

// guarded converts a panic into an error; [RunFunc] has the reason.
func guarded(ctx context.Context, run func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("the responder panicked: %v", value)
			klog.FromContext(ctx).Error(err, "The responder panicked; it completes", "stack", string(debug.Stack()))
		}
	}()
	return run()
}

func (j *job) report(progress Progress) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.progress = progress
	j.signal()
}

func (j *job) finish(ctx context.Context, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.returned, j.failure = true, err
	logger := klog.FromContext(ctx)
	switch {
	case j.stopped != nil:
		logger.Info("The run has stopped", "cause", j.stopped.Error(), "result", fmt.Sprint(err))
	case err != nil:
		logger.Info("The run has failed; the next responder becomes active", "reason", err.Error())
	default:
		logger.Info("The run is done")
	}
	j.signal()
}

// stop cancels the run, and ends all writes.
func (j *job) stop(cause error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stopLocked(cause)
}

func (j *job) stopLocked(cause error) {
	if j.stopped != nil {
		return
	}
	j.stopped = cause
	j.cancelRun(cause)
	j.signal()
}

// see processes a new version of the Eviction, and stops the job if the responder is no
// longer active.
func (j *job) see(e *evictionv1alpha1.Eviction) {
	if e.UID != j.uid {
		j.stop(ErrGone)
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if isOlder(e, j.seen) {
		return
	}
	j.seen = e
	if ours, cause := isTurnOf(j.responder, e); !ours {
		j.stopLocked(cause)
	}
}

// isOlder returns false if the order is unknown.
func isOlder(a, b *evictionv1alpha1.Eviction) bool {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	return err == nil && order < 0
}

// signal wakes the goroutine that updates the entry. The caller holds the lock.
func (j *job) signal() {
	select {
	case j.changed <- struct{}{}:
	default: // the goroutine is awake
	}
}

func (j *job) isOver() bool {
	select {
	case <-j.over:
		return true
	default:
		return false
	}
}
