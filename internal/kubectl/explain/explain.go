// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"github.com/slipway-k8s/slipway/internal/reasons"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// event is one that a report is about.
type event = lifecyclev1alpha1.LifecycleEvent

// Explain says how the node is, what keeps its events from moving on, and what helps.
func Explain(f Facts, now time.Time) Report {
	r := Report{Node: f.NodeName, Unread: f.Unread}
	events := inTurn(f.Events)
	for _, e := range events {
		r.Causes = append(r.Causes, causesOf(f, e, events, now)...)
		r.Unlisted += max(int(e.Status.BlockersTotal)-len(e.Status.Blockers), 0)
	}
	slices.SortStableFunc(r.Causes, byUrgency)
	r.State, r.Headline = headline(f, events, r.Causes)
	if len(events) > 0 {
		r.Event = events[0].Name
	} else {
		r.Next = next(f, r.State)
	}
	r.History = history(f, events)
	return r
}

// inTurn is the order in which the events of a node are worked on: who is claimed, then
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

// causesOf is all that keeps one event from moving on.
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
		return causes // its blockers are those of the past, and the ending names the first
	}
	return append(causes, ofBlockersOf(f, e, now)...)
}

// troubles tells whether a condition says that something is in the way now. A condition
// with a reason that the catalogue does not know is a driver's own, and not ours to judge.
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

// silent is an event that nobody has said anything about yet.
func silent(e *event) bool {
	return pending(e) && apimeta.FindStatusCondition(e.Status.Conditions, lifecyclev1alpha1.ConditionClaimable) == nil &&
		apimeta.FindStatusCondition(e.Status.Conditions, lifecyclev1alpha1.ConditionGuardsPassed) == nil &&
		apimeta.FindStatusCondition(e.Status.Conditions, lifecyclev1alpha1.ConditionLeaseHeld) == nil
}

// byUrgency puts first what does not pass, then what is about the whole event, then what
// holds up most.
func byUrgency(a, b Cause) int {
	return cmp.Or(
		cmp.Compare(place(a), place(b)),
		compareBool(a.Passes, b.Passes),
		cmp.Compare(scope(a), scope(b)),
		cmp.Compare(len(b.Objects), len(a.Objects)),
		cmp.Compare(a.Code, b.Code),
	)
}

// place puts last what is left behind: it holds up nothing.
func place(c Cause) int {
	if c.Place == reasons.PodsLeft {
		return 1
	}
	return 0
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

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
