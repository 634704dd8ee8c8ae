// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// apart is how far apart passes are, at least.
const apart = 200 * time.Millisecond

// loop makes a pass whenever something has changed, or is due.
func (m *Maintainer) loop(ctx context.Context) {
	trouble := freshTrouble()
	for ctx.Err() == nil {
		began := m.Clock.Now()
		due, err := m.guardedPass(ctx)
		if err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "Failed; trying again")
			due = m.Clock.Now().Add(trouble.Step())
			m.await(ctx, due, nil)
			continue
		}
		trouble = freshTrouble()
		m.await(ctx, began.Add(apart), nil)
		m.await(ctx, due, m.changed)
	}
}

// await waits until something has changed, or the given time, which is never if it is zero.
func (m *Maintainer) await(ctx context.Context, until time.Time, changed <-chan struct{}) {
	var over <-chan time.Time
	if !until.IsZero() {
		timer := m.Clock.NewTimer(until.Sub(m.Clock.Now()))
		defer timer.Stop()
		over = timer.C()
	}
	select {
	case <-ctx.Done():
	case <-over:
	case <-changed:
	}
}

// guardedPass makes an error of a panic: what is wrong with maintenances must not end what
// else the process does.
func (m *Maintainer) guardedPass(ctx context.Context) (due time.Time, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v\n%s", value, debug.Stack())
		}
	}()
	return m.pass(ctx)
}

// pass gathers what is known, and does what is next. It returns when to look again, if
// nothing changes before. What has failed is not an error of the pass.
func (m *Maintainer) pass(ctx context.Context) (due time.Time, err error) {
	facts, err := m.gather(ctx)
	if err != nil {
		return time.Time{}, err
	}
	now := m.Clock.Now()
	decision := m.next(facts, now)
	m.health.watch(ctx, decision.Check)
	decision.Wake = earliest(decision.Wake, m.keptAway.watch(ctx, decision.WatchKeptAway, now))
	m.starving.watch(ctx, decision.Starving)
	m.Tell.Stand(standing(facts, decision), now)
	until := earliest(m.pending.watch(ctx, decision.CountPending, now), m.budgets.watch(ctx, decision.Budgets, now))
	if !until.IsZero() {
		return until, nil // it is decided again with the pods that are Pending, and with budgets
	}
	changed := m.performAll(ctx, facts, decision.Steps)
	later := m.writeStatuses(ctx, facts, decision.Statuses, changed)
	for _, t := range []time.Time{later, m.failed.due(), m.events.due(), m.jobs.due(), m.nodes.due(), m.maintenances.due()} {
		decision.Wake = earliest(decision.Wake, t)
	}
	return decision.Wake, nil
}

// freshTrouble is the backoff of passes that fail as a whole.
func freshTrouble() *wait.Backoff {
	return &wait.Backoff{Duration: apart, Factor: 2, Jitter: 0.1, Steps: 8, Cap: 30 * time.Second}
}
