// SPDX-License-Identifier: Apache-2.0

package responderkit

import (
	"context"
	"time"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

// keep updates the entry until no write is left.
func (j *job) keep(ctx context.Context) {
	trouble := freshTrouble()
	for {
		now := j.look()
		if now.over {
			return
		}
		entry, beats, pause := next(now.facts, j.clock.Now())
		if now.stopped {
			entry, pause = nil, forever
		} else if rest := trouble.until.Sub(j.clock.Now()); entry != nil && rest > 0 {
			entry, pause = nil, rest
		}
		if entry == nil {
			j.await(pause)
			continue
		}
		err := j.write(ctx, now.seen, entry, beats)
		if err == nil {
			trouble = freshTrouble()
			continue
		}
		trouble.until = j.clock.Now().Add(trouble.step(err))
	}
}

// trouble is the delay after failed writes.
type trouble struct {
	until            time.Time
	conflict, refuse wait.Backoff
}

func freshTrouble() *trouble {
	return &trouble{
		// A conflict with another writer resolves quickly.
		conflict: wait.Backoff{Duration: 5 * time.Millisecond, Factor: 2, Jitter: 1, Steps: 8, Cap: time.Second},
		refuse:   wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 7, Cap: time.Minute},
	}
}

func (t *trouble) step(err error) time.Duration {
	if apierrors.IsConflict(err) {
		return t.conflict.Step()
	}
	return t.refuse.Step()
}

// view is a snapshot of a job.
type view struct {
	facts

	seen *evictionv1alpha1.Eviction
	// stopped: no further writes. over: the run has ended, too.
	stopped, over bool
}

func (j *job) look() view {
	j.mu.Lock()
	defer j.mu.Unlock()
	return view{
		facts: facts{
			entry:    entryOf(j.responder, j.seen),
			progress: j.progress,
			returned: j.returned,
			failure:  j.failure,
			beat:     j.beat,
			followed: j.followed,
		},
		seen:    j.seen,
		stopped: j.stopped != nil,
		over:    j.returned && (j.stopped != nil || j.complete),
	}
}

// forever means: until the next change.
const forever = time.Duration(-1)

// await returns after a change, or after pause.
func (j *job) await(pause time.Duration) {
	if pause == forever {
		<-j.changed
		return
	}
	timer := j.clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-j.changed:
	}
}

// write writes the entry. After a conflict it reads the Eviction again.
func (j *job) write(ctx context.Context, seen *evictionv1alpha1.Eviction, entry *evictionv1alpha1.ResponderStatus, beats bool) error {
	after, err := j.evictions.write(ctx, seen, entry)
	logger := klog.FromContext(ctx)
	switch {
	case err == nil:
		logger.V(2).Info("Written", "entry", entry)
		j.hasWritten(entry, beats)
		j.see(after)
		return nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		logger.V(2).Info("Another client has written or deleted the Eviction; reading it again", "reason", err.Error())
		return j.lookAgain(ctx, seen, err)
	}
	logger.Info("The Eviction could not be written; trying again", "reason", err.Error(), "advice", advice(err, j.clock.Now()))
	return err
}

// lookAgain reads the Eviction again, and returns the error that was the reason.
func (j *job) lookAgain(ctx context.Context, seen *evictionv1alpha1.Eviction, reason error) error {
	now, err := j.evictions.read(ctx, seen)
	switch {
	case err == nil:
		j.see(now)
		return reason
	case apierrors.IsNotFound(err):
		j.stop(ErrGone)
		return reason
	}
	klog.FromContext(ctx).Info("The Eviction could not be read; trying again", "reason", err.Error(), "advice", advice(err, j.clock.Now()))
	return err
}

func (j *job) hasWritten(entry *evictionv1alpha1.ResponderStatus, beats bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.followed = !beats
	if beats {
		j.beat = j.clock.Now()
	}
	j.complete = entry.CompletionTime != nil
}
