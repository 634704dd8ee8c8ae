// SPDX-License-Identifier: Apache-2.0

// Package explain finds why a node is not moving, and what helps.
//
//	Facts (what was read) ── Explain(facts, now) ──▶ Report: headline, causes, remedies, history
//
// It is pure: no client, no clock, no goroutine. What could not be read is a fact, too.
package explain

import (
	"cmp"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/state"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// event is the kind that a report is about.
type event = lifecyclev1alpha1.LifecycleEvent

// Explain says what happens to the node, what keeps its events from moving on, and what helps.
func Explain(f Facts, now time.Time) Report {
	r := Report{Node: f.NodeName, Unread: f.Unread}
	events := inTurn(f.Events)
	for _, e := range events {
		r.Causes = append(r.Causes, causesOf(f, e, events, now)...)
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

// inTurn returns the events in the order in which they are worked on: the claimed one, then
// the oldest.
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

// causesOf returns all that keeps one event from moving on.
func causesOf(f Facts, e *event, all []*event, now time.Time) []Cause {
	var causes []Cause
	for _, c := range e.Status.Conditions {
		switch {
		case !troubles(e, c):
		case reasons.Place(c.Type) == reasons.PodsLeft:
			causes = append(causes, ofTheLeft(f, e, all, c, now)...)
		default:
			causes = append(causes, ofTheCondition(f, e, all, c, now))
		}
	}
	if silent(e) {
		causes = append(causes, notNoticed(f, e, now))
	}
	if e.Status.ClaimStatus.Terminal() {
		return causes // its blockers are past, and its final condition names the first
	}
	return append(causes, ofBlockersOf(f, e, now)...)
}

// troubles tells whether a condition keeps the event from moving on now. Reasons that the
// catalogue does not know are those of third-party drivers, and are not judged.
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

// silent tells whether neither an agent nor the controller has reported on the event yet.
func silent(e *event) bool {
	return pending(e) && apimeta.FindStatusCondition(e.Status.Conditions, lifecyclev1alpha1.ConditionClaimable) == nil &&
		apimeta.FindStatusCondition(e.Status.Conditions, lifecyclev1alpha1.ConditionGuardsPassed) == nil &&
		apimeta.FindStatusCondition(e.Status.Conditions, lifecyclev1alpha1.ConditionLeaseHeld) == nil
}

// byUrgency sorts causes: those that do not pass first, then those of the whole event, then
// those that hold up most objects.
func byUrgency(a, b Cause) int {
	return cmp.Or(
		cmp.Compare(rankIf(a.Place == reasons.PodsLeft), rankIf(b.Place == reasons.PodsLeft)), // what is left behind holds up nothing
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
