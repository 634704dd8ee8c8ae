// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// AbandonedAfter is the time after which a run without calls ends: the agent is missing,
// and the controller may have ended its event. A working agent calls again within a minute,
// even if one call gets no answer until its deadline.
const AbandonedAfter = 2 * time.Minute

// forgetAfter is the time after which the driver forgets a node without work. A call takes
// less than a minute, so no Start that arrives after its Stop comes later than that.
const forgetAfter = 10 * time.Minute

// RunFunc does the work for one event. It returns nil when the end state is reached, and an
// error for a permanent failure.
//
// Write it level-triggered, not edge-triggered: it checks the current state and does the
// remaining work, because it runs again for the same event after a restart of the driver
// and after a change of the event's parameters. When ctx ends, it stops its work and
// returns: no work may continue after that. context.Cause(ctx) is the reason: [ErrStopped],
// [ErrReplaced], [ErrParametersChanged], [ErrAbandoned] or [ErrShutdown]. The kit then
// ignores the result, even nil: a canceled run has never reached the end state.
//
// report sends the progress to the agent. It may be called from any goroutine, after each
// change; it does not block. The kit ignores Answer.Done and Answer.Waits: the return of
// the function ends the work.
type RunFunc func(ctx context.Context, call Call, report func(Answer)) error

// Background returns a [Driver] for work that continues between the calls. There is at most
// one run per node:
//
//   - Start begins a run. Another Start for the same event does not begin a second one.
//     After the end of the run, a Start without a UID (from a caller that sends none)
//     means a new event of the same name, and begins a new run.
//   - End answers with the latest report. If there is no run, because the driver
//     restarted, it begins one. It honours Call.Wait: it answers a change since the last
//     answer, or the end of the run, at once.
//   - Newer parameters end the run and begin another one with them, also after the
//     end of the run. Its last report remains the answer until the new run has reported.
//   - Start or End for another event first ends the run of the older event.
//   - Stop ends the run; the event cannot begin again.
//   - Without a Start or End for the event for [AbandonedAfter], the run ends; the next
//     Start or End begins it again.
//   - The driver keeps the result of a run, and answers with it, until another event comes.
//     It forgets a node without work after ten minutes without calls.
//
// To end a run, the driver cancels its ctx and waits until it has returned. If that takes
// longer than the time of the call, the answer to the call is [ErrTryAgain]. A panic of the
// run fails the event, as [Driver] describes. Use the Driver for one [Serve]: after its
// Close it begins no work.
func Background(run RunFunc) Driver {
	return &background{run: run, clock: clock.RealClock{}, nodes: map[string]*slot{}}
}

type background struct {
	run   RunFunc
	clock clock.WithDelayedExecution

	mu      sync.Mutex
	nodes   map[string]*slot
	sweptAt time.Time // time of the last forget
	closed  bool
}

// slot is the state of one node.
type slot struct {
	job *job
	// stopped is the UID of the last stopped event: a Start that arrives after its Stop
	// must not begin the event again.
	stopped string
	// calledAt is the time of the last call for the node.
	calledAt time.Time
}

func (b *background) Start(ctx context.Context, call Call) (Answer, error) {
	j, err := b.jobFor(ctx, call, true)
	if err != nil {
		return Answer{}, err
	}
	return j.answer()
}

func (b *background) End(ctx context.Context, call Call) (Answer, error) {
	j, err := b.jobFor(ctx, call, false)
	if err != nil {
		return Answer{}, err
	}
	if err := j.hold(ctx, call.Wait); err != nil {
		return Answer{}, err
	}
	return j.answer()
}

func (b *background) Stop(ctx context.Context, call Call) (Answer, error) {
	j := b.markStopped(call)
	if j == nil {
		return Answer{Waits: true}, nil
	}
	if err := j.awaitEnd(ctx); err != nil {
		return Answer{}, err
	}
	return j.lastAnswer()
}

// Close ends all runs, with [ErrShutdown].
func (b *background) Close(ctx context.Context) error {
	var errs []error
	for _, j := range b.closeAll() {
		if err := j.awaitEnd(ctx); err != nil {
			errs = append(errs, fmt.Errorf("the work for event %s has not stopped: %w", j.call.Event, err))
		}
	}
	return errors.Join(errs...)
}

// replace ends the node's run if it is for another event.
func (b *background) replace(ctx context.Context, call Call) error {
	j := b.current(call.Node)
	if j == nil || j.call.EventUID == call.EventUID {
		return nil
	}
	j.cancel(ErrReplaced)
	return j.awaitEnd(ctx)
}

// current returns the node's job, or nil.
func (b *background) current(node string) *job {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s, known := b.nodes[node]; known {
		return s.job
	}
	return nil
}

// jobFor returns the job of the call's event, and begins one if there is none.
func (b *background) jobFor(ctx context.Context, call Call, isStart bool) (*job, error) {
	for {
		j, outdated, err := b.jobOrOutdated(ctx, call, isStart)
		if err != nil || outdated == nil {
			return j, err
		}
		// Without the lock, because the run may take long to return.
		if err := outdated.awaitEnd(ctx); err != nil {
			return nil, err
		}
	}
}

// jobOrOutdated returns either the event's job, or an older job that must end first.
func (b *background) jobOrOutdated(ctx context.Context, call Call, isStart bool) (current, outdated *job, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.slot(call.Node)
	switch {
	case b.closed:
		return nil, nil, fmt.Errorf("%w: %w", ErrTryAgain, ErrShutdown)
	case ctx.Err() != nil: // the caller has gone: begin no work
		return nil, nil, fmt.Errorf("%w: %w", ErrTryAgain, context.Cause(ctx))
	case s.stopped == call.EventUID && (call.hasUID() || !isStart):
		return nil, nil, ErrStopped
	case s.job != nil && s.job.serves(call, isStart):
		s.job.keep()
		return s.job, nil, nil
	case s.job != nil && !s.job.over():
		s.job.cancel(s.job.outdatedBy(call))
		return nil, s.job, nil
	}
	if s.stopped == call.EventUID {
		s.stopped = ""
	}
	s.job = b.begin(ctx, call, s.job)
	return s.job, nil, nil
}

// slot returns the state of the node of a call.
func (b *background) slot(node string) *slot {
	now := b.clock.Now()
	s, ok := b.nodes[node]
	if !ok {
		s = &slot{}
		b.nodes[node] = s
	}
	s.calledAt = now
	b.forget(now)
	return s
}

// forget drops nodes without work. It does not run at each call, because it iterates over
// all nodes.
func (b *background) forget(now time.Time) {
	if now.Sub(b.sweptAt) < forgetAfter/2 {
		return
	}
	b.sweptAt = now
	maps.DeleteFunc(b.nodes, func(_ string, s *slot) bool {
		return now.Sub(s.calledAt) >= forgetAfter && (s.job == nil || s.job.over())
	})
}

// markStopped cancels the event's job, if there is one.
func (b *background) markStopped(call Call) *job {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.slot(call.Node)
	s.stopped = call.EventUID
	if s.job == nil || s.job.call.EventUID != call.EventUID {
		return nil
	}
	s.job.cancel(ErrStopped)
	return s.job
}

func (b *background) closeAll() []*job {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	var jobs []*job
	for _, s := range b.nodes {
		if s.job != nil {
			s.job.cancel(ErrShutdown)
			jobs = append(jobs, s.job)
		}
	}
	return jobs
}

// serves reports whether the job belongs to the event of the call.
func (j *job) serves(call Call, isStart bool) bool {
	if j.call.EventUID != call.EventUID || j.isCanceled() {
		return false
	}
	if isStart && !call.hasUID() && j.over() {
		return false
	}
	return !j.outgrown(call)
}

// outgrown reports whether the call has newer parameters. The generation alone is not
// enough: it also grows for other reasons.
func (j *job) outgrown(call Call) bool {
	if call.ParametersGeneration < j.generation {
		return false
	}
	if !bytes.Equal(call.Parameters, j.call.Parameters) {
		return true
	}
	j.generation = call.ParametersGeneration
	return false
}

func (j *job) outdatedBy(call Call) error {
	if j.call.EventUID == call.EventUID {
		return ErrParametersChanged
	}
	return ErrReplaced
}
