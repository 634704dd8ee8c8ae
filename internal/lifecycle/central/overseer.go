// SPDX-License-Identifier: Apache-2.0

package central

import (
	"context"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-k8s/slipway/internal/lifecycle/oversight"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	"github.com/slipway-k8s/slipway/internal/node/loop"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
	"github.com/slipway-k8s/slipway/internal/platform/telemetry"
)

// Options are the settings, clients and readers of an [Overseer] and a [Fleet].
type Options struct {
	// Namespace is Slipway's own namespace, with the pods of the agents.
	Namespace string
	// CentralDrivers: drivers can register with the controller, which claims the events of their transitions.
	CentralDrivers bool
	// NodeLeases: the controller acquires the lease of a node before its cordon.
	NodeLeases bool
	// StrictGuards is [oversight.Facts.StrictGuards].
	StrictGuards bool
	// FinishedEventTTL is the time for which the controller keeps ended events.
	FinishedEventTTL time.Duration
	// Home is the API group of events.
	Home apigroup.Home

	// Cached reads from the caches, Live from the API server.
	Cached, Live client.Reader
	Recorder     *record.Recorder
	// Writer writes the Node of that name.
	Writer   func(node string) *nodestate.Writer
	Observer *telemetry.Source
	Clock    clock.PassiveClock
}

// Overseer performs the steps for events that no agent can perform. Its controller has one
// worker, so that it decides about guards one event after another.
type Overseer struct {
	Options

	since time.Time                     // of the first pass, when this process began to lead
	lost  map[string]oversight.Sighting // of lost agents, by node: only of nodes with events
}

// NewOverseer returns an Overseer without memory of earlier passes.
func NewOverseer(options Options) *Overseer {
	return &Overseer{Options: options, lost: map[string]oversight.Sighting{}}
}

// Reconcile performs one step for a node, if there is one. Its write starts the next pass.
func (o *Overseer) Reconcile(ctx context.Context, node string) (reconcile.Result, error) {
	now := o.Clock.Now()
	if o.since.IsZero() {
		o.since = now
	}
	facts, err := o.gather(ctx, node)
	if err != nil {
		return reconcile.Result{}, err
	}
	o.Observer.Oversees(node, facts.Events, facts.Holds)
	facts.Lost = o.lost[node]
	facts.Lost = oversight.Look(facts, now)
	o.remember(node, facts.Lost)
	decision := oversight.Next(facts, now)
	if decision.Step == nil {
		return loop.Wait(decision.Wake, now), nil
	}
	if err = o.perform(ctx, facts, decision.Step); err == nil {
		o.remember(node, facts.Lost.After(decision.Step))
	}
	return loop.AfterStep(ctx, node, err)
}

// remember records the sighting of a lost agent, and drops it when the agent is back.
func (o *Overseer) remember(node string, seen oversight.Sighting) {
	if seen.Since.IsZero() {
		delete(o.lost, node)
		return
	}
	o.lost[node] = seen
}
