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

// AbandonedAfter is how long a run goes on that nobody calls for: the agent is gone, and
// its event may have been ended for it. An agent that works asks again within a minute,
// even if a call goes unanswered for as long as it may.
const AbandonedAfter = 2 * time.Minute

// forgetAfter is how long a node is remembered whose work is over. A call takes less than
// a minute, so no Start that its Stop has overtaken comes after that.
const forgetAfter = 10 * time.Minute

// RunFunc is work for one event. It returns nil when the end state has been reached,
// and an error when it has failed for good.
//
// It is written for the level, not for the edge: it looks at what there is and does
// what is left to do, because it is run again for the same event when the driver
// restarted, and when the event's parameters have changed. When ctx ends, it stops
// what it has begun and returns: nothing must go on after that. context.Cause(ctx)
// says why: [ErrStopped], [ErrReplaced], [ErrParametersChanged], [ErrAbandoned] or
// [ErrShutdown].
// What it returns then does not count, not even nil: a run that was told to stop has
// never reached the end state.
//
// report tells the agent how far the work is. It may be called from any goroutine, as
// often as something changes; it does not block. Answer.Done and Answer.Waits are
// not read: returning is what says that the work is done.
type RunFunc func(ctx context.Context, call Call, report func(Answer)) error

// Background makes a [Driver] of work that goes on between the calls. There is at
// most one run per node:
//
//   - Start begins a run. Another Start for the same event does not begin a second.
//     A Start without a UID (from a caller that sends none) after the run has ended
//     is taken for a new event of the same name, and begins a new run.
//   - End answers with the latest report. If no run is going on, because the driver
//     restarted, it begins one. It honours Call.Wait: a change since the last answer,
//     or the end of the run, is answered at once.
//   - Newer parameters end the run and begin another one with them, also after the
//     run has ended by itself. Its last report stays the answer until the new run
//     has reported.
//   - Start or End for another event ends the older one's run first.
//   - Stop ends the run; the event cannot be begun again.
//   - Without a Start or End for the event for [AbandonedAfter], the run ends; the next
//     one begins it again.
//   - How a run ended is kept, and answered, until another event comes. Of several
//     nodes, one that nobody has called for in ten minutes is forgotten when its work is
//     over.
//
// Ending a run means to cancel its ctx and to wait until it has returned. If that
// takes longer than the call has, the call is answered with [ErrTryAgain]. A panic of
// the run fails the event, as [Driver] says. The Driver is for one [Serve]: after its
// Close it begins nothing any more.
func Background(run RunFunc) Driver {
	return &background{run: run, clock: clock.RealClock{}, nodes: map[string]*slot{}}
}

type background struct {
	run   RunFunc
	clock clock.WithDelayedExecution

	mu      sync.Mutex
	nodes   map[string]*slot
	sweptAt time.Time // when nodes were forgotten last
	closed  bool
}

// slot is what is known of one node.
type slot struct {
	job *job
	// stopped is the UID of the event that was stopped last: a Start that was overtaken
	// by its Stop must not begin it again.
	stopped string
	// calledAt is when a call for the node came last.
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

// current is the node's job; nil if there is none.
func (b *background) current(node string) *job {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s, known := b.nodes[node]; known {
		return s.job
	}
	return nil
}

// jobFor is the job of the call's event, which it begins if there is none.
func (b *background) jobFor(ctx context.Context, call Call, isStart bool) (*job, error) {
	for {
		j, outdated, err := b.jobOrOutdated(ctx, call, isStart)
		if err != nil || outdated == nil {
			return j, err
		}
		// Not under the lock: it takes as long as the run takes to return.
		if err := outdated.awaitEnd(ctx); err != nil {
			return nil, err
		}
	}
}

// jobOrOutdated gives either the event's job, or one that must end before.
func (b *background) jobOrOutdated(ctx context.Context, call Call, isStart bool) (current, outdated *job, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.slot(call.Node)
	switch {
	case b.closed:
		return nil, nil, fmt.Errorf("%w: %w", ErrTryAgain, ErrShutdown)
	case ctx.Err() != nil: // nobody waits for the answer any more: begin nothing
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

// slot is that of the node of a call.
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

// forget drops nodes whose work is over. Not at each call: it looks at all of them.
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

// serves says whether the job is the one that the call is about.
func (j *job) serves(call Call, isStart bool) bool {
	if j.call.EventUID != call.EventUID || j.isCanceled() {
		return false
	}
	if isStart && !call.hasUID() && j.over() {
		return false
	}
	return !j.outgrown(call)
}

// outgrown says whether the call brings newer parameters. A generation grows for
// other reasons as well, so that alone says nothing.
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
