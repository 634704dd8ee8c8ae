// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// eventIn is an event of transition t in the given phase.
func eventIn(phase lifecyclev1alpha1.ClaimStatus, conditions ...metav1.Condition) *lifecyclev1alpha1.LifecycleEvent {
	e := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Name: "e", UID: "1"}}
	e.Spec.TransitionName = "t"
	e.Status.ClaimStatus, e.Status.Conditions = phase, conditions
	if phase != lifecyclev1alpha1.Pending {
		e.Status.ClaimedBy = &lifecyclev1alpha1.Claimer{Kind: lifecyclev1alpha1.NodeAgent, Identity: "n"}
	}
	return e
}

func lines(notices []notice) []string {
	var all []string
	for _, n := range notices {
		all = append(all, n.eventType+" "+n.reason+" "+n.message)
	}
	return all
}

func TestWhatIsWrittenIsToldOnce(t *testing.T) {
	const pending, claimed, failed = lifecyclev1alpha1.Pending, lifecyclev1alpha1.Claimed, lifecyclev1alpha1.Failed
	finished := func(reason, message string) metav1.Condition {
		return metav1.Condition{Type: "Finished", Status: metav1.ConditionTrue, Reason: reason, Message: message}
	}
	held := func(reason, message string) metav1.Condition {
		return metav1.Condition{Type: "LeaseHeld", Status: metav1.ConditionFalse, Reason: reason, Message: message}
	}
	for name, tc := range map[string]struct {
		before, after *lifecyclev1alpha1.LifecycleEvent
		want          []string
	}{
		"it waits": {eventIn(pending), eventIn(pending), nil},
		"it is claimed": {
			eventIn(pending), eventIn(claimed), []string{"Normal LifecycleEventClaimed LifecycleEvent e: transition t begins"},
		},
		"the cluster has one Node": {
			eventIn(pending), eventIn(pending, metav1.Condition{Type: "GuardsPassed", Status: metav1.ConditionTrue, Reason: "OnlyNode", Message: "alone"}),
			[]string{"Warning OnlyNode LifecycleEvent e: alone"},
		},
		"it goes on": {eventIn(claimed), eventIn(claimed), nil},
		"it succeeds": {
			eventIn(claimed), eventIn(lifecyclev1alpha1.Succeeded, finished("Succeeded", "drained: 5 of 5 pods gone")),
			[]string{"Normal LifecycleEventSucceeded LifecycleEvent e: transition t ended as Succeeded: drained: 5 of 5 pods gone"},
		},
		"it fails": {
			eventIn(claimed), eventIn(failed, finished("DriverFailed", "no")),
			[]string{"Warning LifecycleEventFailed LifecycleEvent e: transition t ended as DriverFailed: no"},
		},
		"it fails before it is claimed": {
			eventIn(pending), eventIn(failed, finished("NodeNotFound", "")),
			[]string{"Warning LifecycleEventFailed LifecycleEvent e: transition t ended as NodeNotFound"},
		},
		"its time is up": {
			eventIn(claimed), eventIn(lifecyclev1alpha1.SlaExpired, finished("SlaExpired", "")),
			[]string{"Warning LifecycleEventSlaExpired LifecycleEvent e: transition t ended as SlaExpired"},
		},
		"it is canceled, which somebody wanted": {
			eventIn(claimed), eventIn(failed, finished("Canceled", "deleted")),
			[]string{"Normal LifecycleEventCanceled LifecycleEvent e: transition t ended as Canceled: deleted"},
		},
		"its lease is lost": {
			eventIn(claimed, held("Held", "")), eventIn(claimed, held("LeaseLost", "x has it")),
			[]string{"Warning LeaseLost LifecycleEvent e: x has it"},
		},
		"its lease is lost for longer": {eventIn(claimed, held("LeaseLost", "x has it")), eventIn(claimed, held("LeaseLost", "y has it")), nil},
		"its lease is had again":       {eventIn(claimed, held("LeaseLost", "x has it")), eventIn(claimed, held("Held", "")), nil},
		"it has ended":                 {eventIn(failed, finished("Canceled", "")), eventIn(failed, finished("Canceled", "")), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, lines(written(tc.before, tc.after.Status))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestItIsToldWhoOverrodeBudgets(t *testing.T) {
	one := metav1.Condition{Type: "BudgetsOverridden", Status: metav1.ConditionTrue, Message: "1 deleted: Pod shop/a"}
	two := metav1.Condition{Type: "BudgetsOverridden", Status: metav1.ConditionTrue, Message: "2 deleted: Pod shop/a, Pod shop/b"}
	for name, tc := range map[string]struct {
		requestedBy   string
		before, after []metav1.Condition
		want          []string
	}{
		"nothing is":    {"alice", nil, nil, nil},
		"another":       {"alice", nil, []metav1.Condition{{Type: "PodsLeft", Status: metav1.ConditionTrue}}, nil},
		"none is":       {"alice", nil, []metav1.Condition{{Type: "BudgetsOverridden", Status: metav1.ConditionFalse}}, nil},
		"told before":   {"alice", []metav1.Condition{one}, []metav1.Condition{one}, nil},
		"the first is":  {"alice", nil, []metav1.Condition{one}, []string{`Warning BudgetsOverridden LifecycleEvent e, requested by "alice": 1 deleted: Pod shop/a`}},
		"one more":      {"alice", []metav1.Condition{one}, []metav1.Condition{two}, []string{`Warning BudgetsOverridden LifecycleEvent e, requested by "alice": 2 deleted: Pod shop/a, Pod shop/b`}},
		"for nobody":    {"", nil, []metav1.Condition{one}, []string{"Warning BudgetsOverridden LifecycleEvent e, without a recorded requester: 1 deleted: Pod shop/a"}},
		"a percent (%)": {"100%s", nil, []metav1.Condition{one}, []string{`Warning BudgetsOverridden LifecycleEvent e, requested by "100%s": 1 deleted: Pod shop/a`}},
	} {
		t.Run(name, func(t *testing.T) {
			event := eventIn(lifecyclev1alpha1.Claimed, tc.before...)
			event.Spec.RequestedBy = tc.requestedBy
			after := lifecyclev1alpha1.LifecycleEventStatus{ClaimStatus: lifecyclev1alpha1.Claimed, Conditions: tc.after}
			if diff := cmp.Diff(tc.want, lines(written(event, after))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// held is an event with blockers that have stood for the given times at noon.
func held(blockers map[string]time.Duration, object, reason string) *lifecyclev1alpha1.LifecycleEvent {
	e := eventIn(lifecyclev1alpha1.Claimed)
	for by, stood := range blockers {
		e.Status.Blockers = append(e.Status.Blockers, lifecyclev1alpha1.Blocker{
			Object: object, Reason: reason, By: by, Message: "why", Since: &metav1.Time{Time: noon.Add(-stood)},
		})
	}
	return e
}

func TestWhatStandsIsToldWhenItHasStoodForLong(t *testing.T) {
	pending := held(map[string]time.Duration{"b": time.Hour}, "Pod shop/a", "R")
	pending.Status.ClaimStatus = lifecyclev1alpha1.Pending
	twice := held(map[string]time.Duration{"b": time.Hour}, "Pod shop/a", "BudgetExhausted")
	twice.Status.Blockers = append(twice.Status.Blockers, twice.Status.Blockers[0])
	twice.Status.Blockers[1].Object = "Pod shop/b"
	for name, tc := range map[string]struct {
		event       *lifecyclev1alpha1.LifecycleEvent
		cordonedFor []types.UID
		want        []string
		next        time.Duration // from noon
	}{
		"nothing":             {event: eventIn(lifecyclev1alpha1.Claimed)},
		"the cordon":          {eventIn(lifecyclev1alpha1.Claimed), []types.UID{"0", "1"}, []string{"Normal NodeCordoned LifecycleEvent e: the node is cordoned for it"}, 0},
		"another's cordon":    {eventIn(lifecyclev1alpha1.Claimed), []types.UID{"0"}, nil, 0},
		"one that has ended":  {eventIn(lifecyclev1alpha1.Succeeded), []types.UID{"1"}, nil, 0},
		"one that waits":      {pending, nil, nil, 0},
		"for 29 s":            {held(map[string]time.Duration{"b": 29 * time.Second}, "Pod shop/a", "R"), nil, nil, time.Second},
		"for 29 s and 10 s":   {held(map[string]time.Duration{"b": 29 * time.Second, "c": 10 * time.Second}, "Pod shop/a", "R"), nil, nil, time.Second},
		"for 30 s":            {held(map[string]time.Duration{"PodDisruptionBudget shop/b": 30 * time.Second}, "Pod shop/a", "BudgetExhausted"), nil, []string{"Warning LifecycleEventBlocked LifecycleEvent e is blocked at Pod shop/a: BudgetExhausted by PodDisruptionBudget shop/b: why"}, 0},
		"two pods, one cause": {twice, nil, []string{"Warning LifecycleEventBlocked LifecycleEvent e is blocked at Pod shop/a: BudgetExhausted by b: why"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			notices, next := standing(tc.event, tc.cordonedFor, noon)
			if diff := cmp.Diff(tc.want, lines(notices)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			want := time.Time{}
			if tc.next > 0 {
				want = noon.Add(tc.next)
			}
			if !next.Equal(want) {
				t.Errorf("look again at %s; want %s", next, want)
			}
		})
	}
}
