// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-k8s/slipway/internal/lifecycle/oversight"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/platform/telemetry"
)

// afterStep is when a pass comes that nothing has asked for: the watches show what a
// step has written, and wake, but they may be late.
const afterStep = time.Second

// overseer does for the events of all nodes what their agents cannot. Its controller
// has one worker: only that goroutine uses it.
type overseer struct {
	options  Options
	clock    clock.PassiveClock
	cached   client.Reader
	live     client.Reader // from the API server
	recorder *record.Recorder
	writer   func(node string) *nodestate.Writer
	observer *telemetry.Source

	since time.Time                     // of the first pass, which is when this process began to lead
	lost  map[string]oversight.Sighting // of agents that are lost, by node: of nodes with events only
}

// Reconcile does one step for a node, if there is one. What it writes wakes it again.
func (o *overseer) Reconcile(ctx context.Context, node string) (reconcile.Result, error) {
	now := o.clock.Now()
	if o.since.IsZero() {
		o.since = now
	}
	facts, err := o.gather(ctx, node)
	if err != nil {
		return reconcile.Result{}, err
	}
	o.observer.Oversees(node, facts.Events)
	facts.Lost = o.lost[node]
	facts.Lost = oversight.Look(facts, now)
	o.remember(node, facts.Lost)
	decision := oversight.Next(facts, now)
	if decision.Step == nil {
		if decision.Wake.IsZero() {
			return reconcile.Result{}, nil
		}
		return reconcile.Result{RequeueAfter: max(decision.Wake.Sub(now), time.Millisecond)}, nil
	}
	if err = o.perform(ctx, facts, decision.Step); err == nil {
		o.remember(node, facts.Lost.After(decision.Step))
	}
	if errors.Is(err, record.ErrStale) {
		log.FromContext(ctx).V(2).Info("Looking again", "reason", err.Error())
	} else if err != nil {
		return reconcile.Result{}, fmt.Errorf("node %s: %w", node, err)
	}
	return reconcile.Result{RequeueAfter: afterStep}, nil
}

// remember keeps what is remembered of a node while its agent is lost.
func (o *overseer) remember(node string, seen oversight.Sighting) {
	if seen.Since.IsZero() {
		delete(o.lost, node)
		return
	}
	o.lost[node] = seen
}
