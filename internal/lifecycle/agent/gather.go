// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
)

// gather collects the facts of the node, with the given readers and from memory.
func (a *Agent) gather(ctx context.Context, from Readers) (transition.Facts, error) {
	facts := transition.Facts{
		NodeName: a.NodeName, Claimer: a.Claimer,
		Transitions: map[string]*lifecyclev1alpha1.LifecycleTransition{},
		Drivers:     a.driver,
		Calls:       a.Calls.Calls(), ReportedAt: a.reportedAt,
		Since: a.Since, HomeSince: a.HomeSince, FinishedEventTTL: a.FinishedEventTTL,
	}
	var events lifecyclev1alpha1.LifecycleEventList
	if err := from.Events.List(ctx, &events, client.MatchingFields{lifecycleevent.BindingNodeField: a.NodeName}); err != nil {
		return facts, fmt.Errorf("list the events of node %s: %w", a.NodeName, err)
	}
	for i := range events.Items {
		facts.Events = append(facts.Events, &events.Items[i])
	}
	var transitions lifecyclev1alpha1.LifecycleTransitionList
	if err := from.Transitions.List(ctx, &transitions); err != nil {
		return facts, fmt.Errorf("list the transitions: %w", err)
	}
	for i := range transitions.Items {
		facts.Transitions[transitions.Items[i].Name] = &transitions.Items[i]
	}
	var node corev1.Node
	if err := from.Nodes.Get(ctx, client.ObjectKey{Name: a.NodeName}, &node); client.IgnoreNotFound(err) != nil {
		return facts, fmt.Errorf("read node %s: %w", a.NodeName, err)
	} else if err == nil {
		facts.Node = &node
		facts.CordonedFor = nodestate.Owners(&node)
	}
	return facts, nil
}

// readinessCheck is the event for which a driver's readiness was asked for last.
type readinessCheck struct {
	event types.UID
	since time.Time
}

// driver is what is known of a driver.
func (a *Agent) driver(name string) transition.Driver {
	state := a.Drivers.Driver(name)
	if !state.Registered {
		delete(a.checking, name)
		// Before the registry runs, it does not know since when it has looked.
		since := state.MissingSince
		if since.Before(a.Since) {
			since = a.Since
		}
		return transition.Driver{MissingSince: since, Unseen: !a.seen[name]}
	}
	a.seen[name] = true
	check, checking := a.checking[name]
	ready := checking && state.ReadyFor == string(check.event)
	if checking && !ready {
		// A check is lost when the driver registers anew; one that goes on is not repeated.
		a.Drivers.Check(name, string(check.event))
	}
	return transition.Driver{Registered: true, Checking: check.event, CheckingSince: check.since, Ready: ready}
}

// checkDriver asks whether a driver answers.
func (a *Agent) checkDriver(name string, event types.UID) {
	a.checking[name] = readinessCheck{event: event, since: a.Clock.Now()}
	a.Drivers.Check(name, string(event))
}
