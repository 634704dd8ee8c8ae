// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/node/loop"
)

// gather returns the facts of the node, from the readers and from memory.
func (a *Agent) gather(ctx context.Context, from Readers) (transition.Facts, error) {
	facts := transition.Facts{
		NodeName: a.NodeName, Claimer: a.Claimer,
		Drivers: a.driver,
		Calls:   a.storable(a.Calls.Calls()), ReportedAt: a.reportedAt,
		Since: a.Since, HomeSince: a.HomeSince, FinishedEventTTL: a.FinishedEventTTL,
	}
	var err error
	if facts.Events, err = loop.Events(ctx, from.Events, a.NodeName); err != nil {
		return facts, err
	}
	if facts.Transitions, err = loop.Transitions(ctx, from.Transitions...); err != nil {
		return facts, err
	}
	if err := addNamed(ctx, from.Transition, facts); err != nil {
		return facts, err
	}
	var node corev1.Node
	if err := from.Nodes.Get(ctx, client.ObjectKey{Name: a.NodeName}, &node); client.IgnoreNotFound(err) != nil {
		return facts, fmt.Errorf("read node %s: %w", a.NodeName, err)
	} else if err == nil {
		facts.Node = &node
	}
	if a.Native != nil && transition.Declared(facts.Node) {
		if facts.Native, err = a.Native(ctx); err != nil {
			return facts, fmt.Errorf("find out whether the API server serves LifecycleEvents itself: %w", err)
		}
	}
	if a.Central != nil {
		node.Name = a.NodeName // also of a Node that does not exist
		facts.Central, err = a.Central(ctx, &node)
	}
	return facts, err
}

// addNamed adds the other transitions that new events name.
func addNamed(ctx context.Context, from client.Reader, facts transition.Facts) error {
	for _, e := range facts.Events {
		name := e.Spec.TransitionName
		if _, known := facts.Transitions[name]; known || lifecycleevent.Phase(e) != lifecyclev1alpha1.Pending {
			continue
		}
		var t lifecyclev1alpha1.LifecycleTransition
		switch err := from.Get(ctx, client.ObjectKey{Name: name}, &t); {
		case err == nil:
			facts.Transitions[name] = &t
		case !apierrors.IsNotFound(err):
			return fmt.Errorf("read transition %s: %w", name, err)
		}
	}
	return nil
}

// storable removes LeftToResponders from the answers for events for which the API server
// does not store them: otherwise the agent would write them again in each pass.
func (a *Agent) storable(calls map[types.UID]transition.Call) map[types.UID]transition.Call {
	for uid := range a.prunes {
		if call := calls[uid]; call.Answer != nil {
			answer := *call.Answer
			answer.LeftToResponders = nil
			call.Answer = &answer
			calls[uid] = call
		}
	}
	return calls
}

// readinessCheck is the last event for which the agent checked a driver.
type readinessCheck struct {
	event types.UID
	since time.Time
}

// driver returns the facts about a driver.
func (a *Agent) driver(name string) transition.Driver {
	state := a.Drivers.Driver(name)
	if !state.Registered {
		delete(a.checking, name)
		// Before the registry runs, its time is zero.
		since := state.MissingSince
		if since.Before(a.Since) {
			since = a.Since
		}
		return transition.Driver{MissingSince: since, Unseen: !a.seen[name]}
	}
	a.seen[name] = true
	check, checking := a.checking[name]
	ready := checking && !state.ReadyAt.Before(check.since)
	if checking && !ready {
		// The check has no result yet, or was lost because the driver has registered again.
		a.Drivers.Check(name, a.Wake)
	}
	return transition.Driver{Registered: true, Checking: check.event, CheckingSince: check.since, Ready: ready}
}

// checkDriver starts a check of a driver for an event.
func (a *Agent) checkDriver(name string, event types.UID) {
	a.checking[name] = readinessCheck{event: event, since: a.Clock.Now()}
	a.Drivers.Check(name, a.Wake)
}
