// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
)

// claimedEvent is one that is worked on, as the controller may find it.
func claimedEvent() *lifecyclev1alpha1.LifecycleEvent {
	e := &lifecyclev1alpha1.LifecycleEvent{}
	e.Name, e.UID, e.Generation = "e", "e-1", 4
	e.Spec = lifecyclev1alpha1.LifecycleEventSpec{TransitionName: "drain", BindingNode: nodeName}
	e.Status = lifecyclev1alpha1.LifecycleEventStatus{
		ClaimStatus: lifecyclev1alpha1.Claimed, ClaimedBy: new(claimer), State: "a",
		Driver:           &lifecyclev1alpha1.ClaimedDriver{Name: "d", Start: "a", End: "b"},
		SLA:              &metav1.Time{Time: time.Unix(50, 0)},
		Blockers:         []lifecyclev1alpha1.Blocker{{Object: "Pod shop/cart-0", Message: "its budget refuses"}},
		BlockersTotal:    1,
		LeftToResponders: []lifecyclev1alpha1.PodReference{{Namespace: "shop", Name: "cart-0", UID: "u"}},
	}
	return e
}

func TestHowAnEventEnds(t *testing.T) {
	now := time.Unix(100, 0)
	finished := func(reason, message string) []metav1.Condition {
		return []metav1.Condition{{
			Type: "Finished", Status: "True", Reason: reason, Message: message, ObservedGeneration: 4, LastTransitionTime: metav1.NewTime(now),
		}}
	}
	e := claimedEvent()
	before := e.DeepCopy()

	failed := Ended(e, lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonCanceled, "why", now)
	want := before.Status.DeepCopy()
	want.ClaimStatus, want.LeftToResponders, want.Conditions = lifecyclev1alpha1.Failed, nil, finished("Canceled", "why")
	if diff := cmp.Diff(*want, failed); diff != "" {
		t.Errorf("it failed, and what blocked it stays: -want +got:\n%s", diff)
	}
	succeeded := Ended(e, lifecyclev1alpha1.Succeeded, lifecyclev1alpha1.ReasonSucceeded, "", now)
	want.ClaimStatus, want.Blockers, want.BlockersTotal, want.Conditions = lifecyclev1alpha1.Succeeded, nil, 0, finished("Succeeded", "")
	if diff := cmp.Diff(*want, succeeded); diff != "" {
		t.Errorf("it succeeded, and nothing blocks it: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(before, e); diff != "" {
		t.Errorf("the event itself was changed: -want +got:\n%s", diff)
	}
}

func TestAConditionIsNotedOnce(t *testing.T) {
	e, now := claimedEvent(), time.Unix(100, 0)
	status, changed := lifecycleevent.WithCondition(e, "Stalled", "True", "DriverSilent", "m", now)
	want := []metav1.Condition{{
		Type: "Stalled", Status: "True", Reason: "DriverSilent", Message: "m", ObservedGeneration: 4, LastTransitionTime: metav1.NewTime(now),
	}}
	if diff := cmp.Diff(want, status.Conditions); diff != "" || !changed {
		t.Errorf("it is new: changed %t; -want +got:\n%s", changed, diff)
	}
	e.Status = status
	again, changed := lifecycleevent.WithCondition(e, "Stalled", "True", "DriverSilent", "m", now.Add(time.Hour))
	if diff := cmp.Diff(status, again); diff != "" || changed {
		t.Errorf("it is there: changed %t; -want +got:\n%s", changed, diff)
	}
}

// The time that a driver has is counted from the last change, of the reason too.
func TestTheTimeOfAConditionIsThatOfItsLastReason(t *testing.T) {
	first, second := time.Unix(100, 0), time.Unix(200, 0)
	for name, tc := range map[string]struct {
		status          metav1.ConditionStatus
		reason, message string
		want            time.Time
	}{
		"nothing is new":         {"False", "R", "m", first},
		"another message":        {"False", "R", "n", first},
		"another reason":         {"False", "S", "m", second},
		"another status":         {"True", "R", "m", second},
		"another reason, status": {"True", "S", "m", second},
	} {
		e := claimedEvent()
		lifecycleevent.SetCondition(&e.Status, e, "T", "False", "R", "m", first)
		status := e.Status.DeepCopy()
		lifecycleevent.SetCondition(status, e, "T", tc.status, tc.reason, tc.message, second)
		if got := status.Conditions[0].LastTransitionTime.Time; !got.Equal(tc.want) {
			t.Errorf("%s: since %s; want %s", name, got, tc.want)
		}
		// The clock of who writes may be behind that of who wrote before.
		lifecycleevent.SetCondition(status, e, "T", tc.status, "Earlier", tc.message, first.Add(-time.Hour))
		if got := status.Conditions[0].LastTransitionTime.Time; !got.Equal(tc.want) {
			t.Errorf("%s: a clock that is behind takes the time back: %s; want %s", name, got, tc.want)
		}
	}
}

func TestWhatIsSaidOfAnEventThatIsOutOfTime(t *testing.T) {
	const begin = `state "b" was not reached by 1970-01-01T00:00:50Z`
	for name, tc := range map[string]struct {
		progress *lifecyclev1alpha1.Progress
		blockers []lifecyclev1alpha1.Blocker
		want     string
	}{
		"nothing is known":         {nil, nil, begin},
		"a driver without numbers": {&lifecyclev1alpha1.Progress{}, nil, begin},
		"how far it was":           {&lifecyclev1alpha1.Progress{Summary: "1/2"}, nil, begin + "; progress 1/2"},
		"what blocked it": {
			nil,
			[]lifecyclev1alpha1.Blocker{{Object: "Pod shop/cart-0", Message: "m"}, {Object: "Pod shop/cart-1", Message: "n"}},
			begin + "; Pod shop/cart-0: m",
		},
		"both": {
			&lifecyclev1alpha1.Progress{Summary: "1/2"},
			[]lifecyclev1alpha1.Blocker{{Object: "Pod shop/cart-0", Message: "m"}},
			begin + "; progress 1/2; Pod shop/cart-0: m",
		},
	} {
		e := claimedEvent()
		e.Status.Progress, e.Status.Blockers = tc.progress, tc.blockers
		if got := Missed(e); got != tc.want {
			t.Errorf("%s: got %q; want %q", name, got, tc.want)
		}
	}
}

func TestWhatANodeSaysWhenTheControllerEndsItsEvent(t *testing.T) {
	e, now := claimedEvent(), time.Unix(100, 0)
	e.Status = Ended(e, lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonCanceled, "why", now)
	said := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{
			Type: kind, Status: status, Reason: reason, Message: message,
			LastHeartbeatTime: metav1.NewTime(now), LastTransitionTime: metav1.NewTime(now),
		}
	}
	failed := said("LifecycleTransition", "False", "Canceled", "Lifecycle Transition 'drain': why")
	const last = "event e (UID e-1): Pod shop/cart-0: its budget refuses"
	draining := said(corev1.NodeDrainInProgress, "True", "AdminRequested", "event e (UID e-1): 1/2 pods")
	over := said(corev1.NodeDrainInProgress, "False", "Canceled", last)
	for name, tc := range map[string]struct{ have, want []corev1.NodeCondition }{
		"it says nothing":            {nil, []corev1.NodeCondition{failed}},
		"it is shown as drained":     {[]corev1.NodeCondition{draining}, []corev1.NodeCondition{failed, over, said(corev1.NodeDrained, "False", "Canceled", last)}},
		"another event drains it":    {[]corev1.NodeCondition{said(corev1.NodeDrainInProgress, "True", "R", "event x (UID x-1)")}, []corev1.NodeCondition{failed}},
		"all of it is said already":  {[]corev1.NodeCondition{failed, over}, nil},
		"another message is written": {[]corev1.NodeCondition{said("LifecycleTransition", "False", "Canceled", "m")}, []corev1.NodeCondition{failed}},
	} {
		node := &corev1.Node{Status: corev1.NodeStatus{Conditions: tc.have}}
		if diff := cmp.Diff(tc.want, NodeConditions(node, e, now)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestAnEventThatEndedWithoutAWordSaysNoneOnTheNode(t *testing.T) {
	e := claimedEvent()
	e.Status = Ended(e, lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonCanceled, "", time.Unix(100, 0))
	if got := lifecycleCondition(e).Message; got != "Lifecycle Transition 'drain'" {
		t.Errorf("got %q", got)
	}
}

func TestWhetherANodeSaysThatAnEventDrainsIt(t *testing.T) {
	for name, tc := range map[string]struct {
		have     []corev1.NodeCondition
		cordoned bool
		want     bool
	}{
		"it says nothing":       {nil, false, false},
		"an event of ours does": {[]corev1.NodeCondition{{Type: corev1.NodeDrainInProgress, Status: "True", Message: "event e (UID e-1): m"}}, false, true},
		"one has":               {[]corev1.NodeCondition{{Type: corev1.NodeDrainInProgress, Status: "False", Message: "event e (UID e-1): m"}}, false, false},
		"somebody else does":    {[]corev1.NodeCondition{{Type: corev1.NodeDrainInProgress, Status: "True", Message: "kubectl"}}, false, false},
		"one has drained it":    {[]corev1.NodeCondition{{Type: corev1.NodeDrained, Status: "True", Message: "event e (UID e-1): m"}}, true, false},
		"and it is uncordoned":  {[]corev1.NodeCondition{{Type: corev1.NodeDrained, Status: "True", Message: "event e (UID e-1): m"}}, false, true},
	} {
		if got := DrainShown(&corev1.Node{Spec: corev1.NodeSpec{Unschedulable: tc.cordoned}, Status: corev1.NodeStatus{Conditions: tc.have}}); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// KEP-5683 counts the time in a state from the condition's transition time.
func TestTheTimeOfALifecycleTransitionMovesWithTheState(t *testing.T) {
	first, second := time.Unix(100, 0), time.Unix(200, 0)
	for name, tc := range map[string]struct {
		kind   corev1.NodeConditionType
		reason string
		want   time.Time
	}{
		"another state":             {lifecyclev1alpha1.NodeConditionLifecycleTransition, "drain-complete", second},
		"the same":                  {lifecyclev1alpha1.NodeConditionLifecycleTransition, "drain-started", first},
		"a reason that is no state": {corev1.NodeDrainInProgress, "NodeShutdown", first},
	} {
		node := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: tc.kind, Status: corev1.ConditionTrue, Reason: "drain-started", LastTransitionTime: metav1.NewTime(first)},
		}}}
		got, _ := stamped(node, corev1.NodeCondition{Type: tc.kind, Status: corev1.ConditionTrue, Reason: tc.reason}, true, second)
		if !got.LastTransitionTime.Time.Equal(tc.want) {
			t.Errorf("%s: since %s, want %s", name, got.LastTransitionTime, tc.want)
		}
	}
}
