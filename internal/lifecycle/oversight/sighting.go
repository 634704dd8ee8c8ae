// SPDX-License-Identifier: Apache-2.0

package oversight

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Sighting is what the controller remembers of a node while its agent is lost. It is
// forgotten with a restart, and then begins anew.
type Sighting struct {
	// Since is since when the agent is lost. Zero: it is not.
	Since time.Time
	// Told are the events on which it was noted that no pod of the agent is there. Who
	// says something else on them after that is an agent that the controller cannot see.
	Told map[types.UID]bool
}

// Look is the sighting after a look at the node: at f, which has the sighting before.
func Look(f Facts, now time.Time) Sighting {
	loss := AgentLoss(f, now)
	if loss == nil || len(f.Events) == 0 {
		return Sighting{}
	}
	seen := Sighting{Since: loss.Since}
	if loss.Reason != lifecyclev1alpha1.ReasonAgentMissing {
		return seen // there is a pod: when that has gone, its agent cannot write any more
	}
	for _, e := range f.Events {
		if f.Lost.Told[e.UID] {
			seen = seen.with(e.UID)
		}
	}
	return seen
}

// After is the sighting once the step was performed.
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
