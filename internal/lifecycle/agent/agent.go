// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	seen       map[string]bool // drivers that have registered since the start of the agent
	lag        lag
	// prunes are the events whose LeftToResponders the API server does not store: its CRD is
	// older than this agent.
	prunes map[types.UID]bool
	// looked is true after the first read from the API server. The caches of a new leader may
	// be far behind, and no conflict prevents a call to a driver that is based on them.
	looked bool
}

// Config contains the settings, clients and drivers of an agent.
type Config struct {
	NodeName string
	Claimer  lifecyclev1alpha1.Claimer
	// FinishedEventTTL is the time for which the agent keeps ended events.
	FinishedEventTTL time.Duration
	// HomeSince is the time of the move of the API to its group. Zero: it has not moved.
	HomeSince time.Time
	// Since is the time of the agent's start.
	Since time.Time
	Clock clock.PassiveClock

	Cached Readers
	Live   Readers // of the API server

	// Native reports whether the API server serves LifecycleEvents itself. The agent asks only where the kubelet declares
	// that it claims them.
	Native func(context.Context) (bool, error)
	// StandsDown is called in each pass, with whether the agent leaves the events to the kubelet.
	StandsDown func(context.Context, bool)
	// Central gathers the controller's facts about the node's agent. Nil for an agent on its node.
	Central func(context.Context, *corev1.Node) (*transition.Central, error)

	Wake     func() // starts a pass
	Drivers  Drivers
	Calls    *dispatch.Dispatcher
	Recorder *record.Recorder
	Node     *nodestate.Writer
	Observer *telemetry.Observer
}

// Drivers are the registered drivers: a [plugins.Registry].
type Drivers interface {
	Driver(name string) plugins.State
	Check(name string, done func())
}

// Readers read the objects of the agent's facts.
type Readers struct {
	Events, Nodes client.Reader
	// Transitions are of several nodes and, for an agent on its node, of that node.
	Transitions []client.Reader
	// Transition reads one that an event names, and that is not among these: of another node. It reads the API server.
	Transition client.Reader
}

// New returns an agent without memory of earlier passes.
func New(config Config) *Agent {
	return &Agent{
		Config:     config,
		reportedAt: map[types.UID]time.Time{}, checking: map[string]readinessCheck{}, seen: map[string]bool{},
		lag: lag{}, prunes: map[types.UID]bool{},
	}
}

// Reconcile performs steps until there is none, or until the caches are behind its writes.
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
		if a.StandsDown != nil {
			a.StandsDown(ctx, transition.StandsDown(facts))
		}
		concerned := slices.DeleteFunc(slices.Clone(facts.Events), func(e *lifecyclev1alpha1.LifecycleEvent) bool { return !transition.Concerns(facts, e) })
		look := a.Observer.Look(concerned, nodestate.Owners(facts.Node), now)
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

// current returns the facts for the decision: from the caches or, if these have been behind
// for too long, from the API server. If wait is not zero, the caches have this time to
// catch up.
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

// forgetGone drops the memory of deleted events.
func (a *Agent) forgetGone(ctx context.Context, facts transition.Facts) {
	present := make(map[types.UID]bool, len(facts.Events))
	for _, e := range facts.Events {
		present[e.UID] = true
	}
	a.Calls.Keep(ctx, present)
	maps.DeleteFunc(a.prunes, func(uid types.UID, _ bool) bool { return !present[uid] })
	maps.DeleteFunc(a.reportedAt, func(uid types.UID, _ time.Time) bool { return !present[uid] })
}
