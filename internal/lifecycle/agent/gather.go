// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
	"github.com/slipway-k8s/slipway/internal/node/loop"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
)

// gather collects the facts of the node, with the given readers and from memory.
func (a *Agent) gather(ctx context.Context, from Readers) (transition.Facts, error) {
	facts := transition.Facts{
		NodeName: a.NodeName, Claimer: a.Claimer,
		Drivers: a.driver,
		Calls:   a.Calls.Calls(), ReportedAt: a.reportedAt,
		Since: a.Since, HomeSince: a.HomeSince, FinishedEventTTL: a.FinishedEventTTL,
	}
	var err error
	if facts.Events, err = loop.Events(ctx, from.Events, a.NodeName); err != nil {
		return facts, err
	}
	if facts.Transitions, err = loop.Transitions(ctx, from.Transitions); err != nil {
		return facts, err
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
