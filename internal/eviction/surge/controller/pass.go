// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-k8s/slipway/internal/eviction/surge"
)

// pass does all steps for all ReplicaSets that there is something to do about. busy says
// whether there are any. What cannot be done for one is no reason not to go on with others.
func (n *namespace) pass(ctx context.Context) (busy bool, wake time.Time, err error) {
	groups, err := n.groups(ctx)
	if err != nil {
		return true, time.Time{}, err
	}
	var failed []error
	for _, g := range groups {
		again, err := n.settle(ctx, g)
		if err != nil && !errors.Is(err, errStale) { // which the watch shows
			failed = append(failed, err)
		}
		busy = busy || err != nil || !n.stranded(ctx, g)
		if wake.IsZero() || !again.IsZero() && again.Before(wake) {
			wake = again
		}
	}
	return busy, wake, errors.Join(failed...)
}

// stranded tells whether nothing can be done about the pods: their ReplicaSet is gone, and
// it is the turn of none.
func (n *namespace) stranded(ctx context.Context, g *group) bool {
	if g.replicaSet != nil {
		return false
	}
	for _, pod := range g.pods {
		if n.turns.get(pod.UID) != nil {
			return false
		}
	}
	for _, pod := range g.pods {
		if !n.told[pod.UID] {
			log.FromContext(ctx).Info("The ReplicaSet that this pod was released from is gone: unless it is evicted, or its Deployment deleted, delete it by hand", "pod", pod.Name)
		}
		n.told[pod.UID] = true
	}
	return true
}

// settle does steps for a ReplicaSet until there is none, and says when to look again.
func (n *namespace) settle(ctx context.Context, g *group) (wake time.Time, err error) {
	for ctx.Err() == nil {
		facts, err := n.facts(g)
		if err != nil {
			return time.Time{}, err
		}
		decision := surge.Next(facts, n.surger.clock.Now())
		if decision.Step == nil {
			for pod, what := range decision.Waiting {
				if t := n.turns.get(pod); t != nil {
					t.say(what)
				}
			}
			return decision.Wake, nil
		}
		if err := n.perform(ctx, g, decision.Step); err != nil {
			return time.Time{}, err
		}
	}
	return time.Time{}, context.Cause(ctx)
}
