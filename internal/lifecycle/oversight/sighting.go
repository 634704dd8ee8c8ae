// SPDX-License-Identifier: Apache-2.0

package oversight

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Sighting is the controller's memory of a node whose agent is lost. A restart forgets it.
type Sighting struct {
	// Since is the start of the loss. Zero: the agent is not lost.
	Since time.Time
	// Told are the events on which the controller has noted AgentMissing. Another note on them comes from an agent that the
	// controller cannot find.
	Told map[types.UID]bool
}

// Look returns the sighting after a look at the facts, which have the previous one.
func Look(f Facts, now time.Time) Sighting {
	loss := AgentLoss(f, now)
	if loss == nil || len(f.Events) == 0 {
		return Sighting{}
	}
	seen := Sighting{Since: loss.Since}
	if loss.Reason != lifecyclev1alpha1.ReasonAgentMissing {
		return seen // the agent's pod exists; after its deletion the agent cannot write
	}
	for _, e := range f.Events {
		if f.Lost.Told[e.UID] {
			seen = seen.with(e.UID)
		}
	}
	return seen
}

// After returns the sighting after the step.
func (s Sighting) After(step Step) Sighting {
	write, ok := step.(WriteStatus)
	if !ok {
		return s
	}
	noted := &lifecyclev1alpha1.LifecycleEvent{Status: write.Status}
	if reasonOf(noted, lifecyclev1alpha1.ConditionClaimable) != lifecyclev1alpha1.ReasonAgentMissing {
		return s
	}
	return s.with(write.Event.UID)
}

func (s Sighting) with(event types.UID) Sighting {
	told := maps.Clone(s.Told)
	if told == nil {
		told = map[types.UID]bool{}
	}
	told[event] = true
	return Sighting{Since: s.Since, Told: told}
}
