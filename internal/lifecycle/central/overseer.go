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

// Options are what the controller's part for all nodes works with.
type Options struct {
	// Namespace is Slipway's own: the pods of the agents are in it.
	Namespace string
	// ClaimsCentrally: the controller claims the events of all nodes, no agent does.
	ClaimsCentrally bool
	// NodeLeases: the controller takes the lease of a node before its cordon.
	NodeLeases bool
	// StrictGuards is [oversight.Facts.StrictGuards].
	StrictGuards bool
	// FinishedEventTTL is how long events are kept after they have ended.
	FinishedEventTTL time.Duration
	// Home is the API group of events.
	Home apigroup.Home

	// Cached reads what the process watches, Live reads from the API server.
	Cached, Live client.Reader
	Recorder     *record.Recorder
	// Writer writes the Node of that name.
	Writer   func(node string) *nodestate.Writer
	Observer *telemetry.Source
	Clock    clock.PassiveClock
}

// Overseer does for the events of all nodes what their agents cannot. Its controller has
// one worker, so that guards are decided one after another.
type Overseer struct {
	Options

	since time.Time                     // of the first pass, when this process began to lead
	lost  map[string]oversight.Sighting // of lost agents, by node: only of nodes with events
}

// NewOverseer returns an Overseer that has seen nothing yet.
func NewOverseer(options Options) *Overseer {
	return &Overseer{Options: options, lost: map[string]oversight.Sighting{}}
}

// Reconcile does one step for a node, if there is one. What it writes wakes it again.
func (o *Overseer) Reconcile(ctx context.Context, node string) (reconcile.Result, error) {
	now := o.Clock.Now()
	if o.since.IsZero() {
		o.since = now
	}
	facts, err := o.gather(ctx, node)
	if err != nil {
		return reconcile.Result{}, err
	}
	o.Observer.Oversees(node, facts.Events)
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

// remember keeps what is remembered of a node while its agent is lost.
func (o *Overseer) remember(node string, seen oversight.Sighting) {
	if seen.Since.IsZero() {
		delete(o.lost, node)
		return
	}
	o.lost[node] = seen
}
