// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/state"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

type event = lifecyclev1alpha1.LifecycleEvent

// Explain reports the state of the node, the causes that block its events, and remedies.
func Explain(f Facts, now time.Time) Report {
	r := Report{Node: f.NodeName, Unread: f.Unread}
	events := inTurn(f.Events)
	for _, e := range events {
		r.Causes = append(r.Causes, explanation{Facts: f, event: e, all: events, now: now}.causes()...)
		r.Unlisted += max(int(e.Status.BlockersTotal)-len(e.Status.Blockers), 0)
	}
	slices.SortStableFunc(r.Causes, byUrgency)
	if len(events) > 0 {
		r.Event, r.State = events[0].Name, state.OfEvent(events[0])
	} else {
		r.State = state.OfNode(f.Node)
		r.Next = next(f, r.State)
	}
	r.Headline = headline(f, r, events)
	r.History = history(f, events)
	return r
}

// inTurn returns the events in the order of work: the claimed one, then the oldest.
func inTurn(events []event) []*event {
	all := make([]*event, len(events))
	for i := range events {
		all[i] = &events[i]
	}
	slices.SortStableFunc(all, func(a, b *event) int {
		return cmp.Or(
			cmp.Compare(rank(a), rank(b)),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return all
}

func rank(e *event) int {
	switch {
	case e.Status.ClaimStatus == lifecyclev1alpha1.Claimed:
		return 0
	case e.Status.ClaimStatus.Terminal():
		return 2
	default:
		return 1
	}
}

func pending(e *event) bool { return rank(e) == 1 }

// troubles reports whether a condition blocks the event now. Unknown reasons come from
// third-party drivers, and do not count.
func troubles(e *event, c metav1.Condition) bool {
	if reasons.Place(c.Type) == reasons.PodsLeft {
		return c.Status == metav1.ConditionTrue
	}
	entry, known := reasons.Lookup(reasons.Place(c.Type), c.Reason)
	if !known || entry.Helps == "" || entry.Status != string(c.Status) {
		return false
	}
	switch c.Type {
	case lifecyclev1alpha1.ConditionClaimable, lifecyclev1alpha1.ConditionGuardsPassed:
		return pending(e)
	case lifecyclev1alpha1.ConditionLeaseHeld:
		return rank(e) < 2
	case lifecyclev1alpha1.ConditionDriverAvailable, lifecyclev1alpha1.ConditionStalled:
		return rank(e) == 0
	default:
		return true
	}
}

// silent reports whether neither an agent nor the controller has written a condition yet.
func silent(e *event) bool {
	return pending(e) && !slices.ContainsFunc(e.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == lifecyclev1alpha1.ConditionClaimable || c.Type == lifecyclev1alpha1.ConditionGuardsPassed || c.Type == lifecyclev1alpha1.ConditionLeaseHeld
	})
}

// byUrgency sorts causes: first causes that need an action, then causes of the whole event, then
// causes with many objects.
func byUrgency(a, b Cause) int {
	return cmp.Or(
		cmp.Compare(rankIf(a.Place == reasons.PodsLeft), rankIf(b.Place == reasons.PodsLeft)), // it blocks nothing
		cmp.Compare(rankIf(a.Passes), rankIf(b.Passes)),
		cmp.Compare(scope(a), scope(b)),
		cmp.Compare(len(b.Objects), len(a.Objects)),
		cmp.Compare(a.Code, b.Code),
	)
}

func scope(c Cause) int {
	switch {
	case c.Place != reasons.Blocker:
		return 0
	case len(c.Objects) > 0 && kindOf(c.Objects[0]) == "Node":
		return 1
	default:
		return 2
	}
}

func rankIf(later bool) int {
	if later {
		return 1
	}
	return 0
}
