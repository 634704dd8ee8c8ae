// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/dispatch"
	"github.com/slipway-k8s/slipway/internal/lifecycle/plugins"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	"github.com/slipway-k8s/slipway/internal/node/loop"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/platform/telemetry"
)

// Agent drives the events of one node. Only its controller's goroutine uses it.
type Agent struct {
	Config

	reportedAt map[types.UID]time.Time
	checking   map[string]readinessCheck
	seen       map[string]bool // drivers that have been registered since we began
	lag        lag
	// prunes are the events whose LeftToResponders the API server does not store: its CRD is
	// older than this agent.
	prunes map[types.UID]bool
	// looked: at the API server, once. The caches of a process that has waited to be the
	// leader may be far behind, and a call to a driver is no write that would be refused.
	looked bool
}

// Config is what an agent is made of.
type Config struct {
	NodeName string
	Claimer  lifecyclev1alpha1.Claimer
	// FinishedEventTTL is how long events are kept after they have ended.
	FinishedEventTTL time.Duration
	// HomeSince is since when the API is in this home, if it moved there.
	HomeSince time.Time
	// Since is when the agent began.
	Since time.Time
	Clock clock.PassiveClock

	Cached Readers
	Live   Readers // the same, from the API server

	Wake     func() // starts a pass
	Drivers  Drivers
	Calls    *dispatch.Dispatcher
	Recorder *record.Recorder
	Node     *nodestate.Writer
	Observer *telemetry.Observer
}

// Drivers knows which drivers are registered: a [plugins.Registry].
type Drivers interface {
	Driver(name string) plugins.State
	Check(name string, done func())
}

// Readers read what the agent decides on.
type Readers struct {
	Events, Transitions, Nodes client.Reader
}

// New returns an agent that remembers nothing yet.
func New(config Config) *Agent {
	return &Agent{
		Config:     config,
		reportedAt: map[types.UID]time.Time{}, checking: map[string]readinessCheck{}, seen: map[string]bool{},
		lag: lag{}, prunes: map[types.UID]bool{},
	}
}

// Reconcile performs steps until there is none, or until one has written something:
// the watch of what it wrote then wakes it again.
func (a *Agent) Reconcile(ctx context.Context, _ string) (reconcile.Result, error) {
	for {
		cached, err := a.gather(ctx, a.Cached)
		if err != nil {
			return reconcile.Result{}, err
		}
		now := a.Clock.Now()
		facts, wait, err := a.current(ctx, cached, now)
		if err != nil || wait > 0 {
			return reconcile.Result{RequeueAfter: wait}, err
		}
		a.forgetGone(ctx, facts)
		look := a.Observer.Look(facts.Events, facts.CordonedFor, now)
		decision := transition.Next(facts, now).Or(transition.Decision{Wake: look})
		if decision.Step == nil {
			return loop.Wait(decision.Wake, now), nil
		}
		object, version, err := a.perform(ctx, decision.Step, facts)
		if errors.Is(err, record.ErrStale) {
			log.FromContext(ctx).V(2).Info("Deciding again", "reason", err.Error())
		} else if err != nil {
			return reconcile.Result{}, fmt.Errorf("node %s: %w", a.NodeName, err)
		}
		if object != "" {
			a.lag.wrote(object, version, cached, now)
		}
	}
}

// current is what to decide on: what the caches show, or the API server where they may be
// behind. wait is how long to give them first.
func (a *Agent) current(ctx context.Context, cached transition.Facts, now time.Time) (facts transition.Facts, wait time.Duration, err error) {
	since := a.lag.behindSince(cached)
	if a.looked && since.IsZero() {
		return cached, 0, nil
	}
	if wait := since.Add(afterWrite).Sub(now); a.looked && wait > 0 {
		return cached, wait, nil
	}
	facts, err = a.gather(ctx, a.Live)
	if err != nil {
		return facts, 0, err
	}
	a.lag.compare(cached, facts, now)
	a.looked = true
	return facts, 0, nil
}

// forgetGone drops what is remembered of events that are not there any more.
func (a *Agent) forgetGone(ctx context.Context, facts transition.Facts) {
	present := make(map[types.UID]bool, len(facts.Events))
	for _, e := range facts.Events {
		present[e.UID] = true
	}
	a.Calls.Keep(ctx, present)
	maps.DeleteFunc(a.prunes, func(uid types.UID, _ bool) bool { return !present[uid] })
	maps.DeleteFunc(a.reportedAt, func(uid types.UID, _ time.Time) bool { return !present[uid] })
}
