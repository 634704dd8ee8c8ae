// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

func TestTheControllerSaysWhatWaitsAndWhatIsStalledWhileItIs(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := sourceOf(t, Controller, kubernetesfake.NewClientset(), registry)
	expect := func(when string, want ...string) {
		t.Helper()
		got := exposed(t, registry, "node_stalled", "lifecycle_events_held_back", "lifecycle_events_pending", "controller_leading")
		if diff := cmp.Diff(strings.Join(want, "\n"), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	in := func(phase lifecyclev1alpha1.ClaimStatus, condition string, status metav1.ConditionStatus, reason string) *lifecyclev1alpha1.LifecycleEvent {
		return eventIn(phase, metav1.Condition{Type: condition, Status: status, Reason: reason})
	}
	type events = []*lifecyclev1alpha1.LifecycleEvent
	const standby, leads = "controller_leading{} 0", "controller_leading{} 1"

	expect("at first", standby)
	s.Leads()
	s.Oversees("a", events{in("", "", "", ""), in("Pending", "Claimable", "False", "AgentMissing"), in("Succeeded", "", "", "")}, nil)
	s.Oversees("b", events{in("Claimed", "Stalled", "True", "AgentNotReady"), in("Pending", "Claimable", "False", "AgentMissing")}, nil)
	s.Oversees("d", events{in("", "GuardsPassed", "False", "NodeAvailabilityBudget"), in("", "GuardsPassed", "True", "Passed")}, nil)
	s.Oversees("c", events{in("Claimed", "Stalled", "False", "AgentReady")}, nil)
	expect("of four nodes", leads, "lifecycle_events_held_back{reason=NodeAvailabilityBudget} 1",
		"lifecycle_events_pending{reason=AgentMissing} 2", "lifecycle_events_pending{reason=NotNoticed} 3",
		"node_stalled{node=b,reason=AgentNotReady} 1")
	s.Oversees("a", nil, nil)
	s.Oversees("d", nil, nil)
	s.Oversees("b", events{in("Claimed", "Stalled", "False", "AgentReady")}, nil)
	expect("when that is over", leads)
}

func heldUntil(seconds int64) *slipwayv1alpha1.NodeHold {
	return &slipwayv1alpha1.NodeHold{Spec: slipwayv1alpha1.NodeHoldSpec{Until: new(metav1.Unix(seconds, 0))}}
}

func TestTheControllerExposesTheEarliestExpectedReturnOfANode(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := sourceOf(t, Controller, kubernetesfake.NewClientset(), registry)
	s.Oversees("a", nil, []*slipwayv1alpha1.NodeHold{{}, heldUntil(300), heldUntil(200)})
	s.Oversees("b", nil, []*slipwayv1alpha1.NodeHold{{}})
	if got := exposed(t, registry, "node_held_until_timestamp_seconds"); got != "node_held_until_timestamp_seconds{node=a} 200" {
		t.Errorf("exposed: %s", got)
	}
	s.Oversees("a", nil, nil)
	if got := exposed(t, registry, "node_held_until_timestamp_seconds"); got != "" {
		t.Errorf("after the return: %s", got)
	}
}

func TestWhenANodeIsDoneNothingIsSaidOfItAnyMore(t *testing.T) {
	registry := prometheus.NewRegistry()
	o := source(t, kubernetesfake.NewClientset(), registry).Node("n")
	event := eventIn(lifecyclev1alpha1.Claimed, metav1.Condition{
		Type: "Claimable", Status: "True", LastTransitionTime: metav1.NewTime(time.Unix(1000, 0)),
	})
	event.Status.SLA = new(metav1.NewTime(time.Unix(5000, 0)))
	for _, since := range []int64{3000, 2000, 4000} {
		event.Status.Blockers = append(event.Status.Blockers, lifecyclev1alpha1.Blocker{Reason: "R", Since: new(metav1.NewTime(time.Unix(since, 0)))})
	}
	names := []string{"node_state", "node_claimed_timestamp_seconds", "node_deadline_timestamp_seconds", "node_blocked_timestamp_seconds"}
	o.Look([]*lifecyclev1alpha1.LifecycleEvent{event}, nil, noon)
	want := strings.Join([]string{
		"node_blocked_timestamp_seconds{node=n,reason=R} 2000", "node_claimed_timestamp_seconds{node=n} 1000",
		"node_deadline_timestamp_seconds{node=n} 5000", "node_state{node=n,state=claimed,transition=t} 1",
	}, "\n")
	if diff := cmp.Diff(want, exposed(t, registry, names...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	event.Status.Blockers, event.Status.SLA = nil, nil
	o.Look([]*lifecyclev1alpha1.LifecycleEvent{event}, nil, noon)
	want = "node_claimed_timestamp_seconds{node=n} 1000\nnode_state{node=n,state=claimed,transition=t} 1"
	if diff := cmp.Diff(want, exposed(t, registry, names...)); diff != "" {
		t.Errorf("with nothing in its way, and all the time (-want +got):\n%s", diff)
	}

	o.Look(nil, nil, noon)
	if got := exposed(t, registry, names...); got != "" {
		t.Errorf("there is still:\n%s", got)
	}
}

// Anybody can create events for nodes that do not exist.
func TestNodesThatSomebodyInventsHaveNoSeries(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := sourceOf(t, Controller, kubernetesfake.NewClientset(), registry)
	for i := range 1000 {
		s.Oversees(fmt.Sprint("invented-", i), []*lifecyclev1alpha1.LifecycleEvent{eventIn(lifecyclev1alpha1.Pending)}, nil)
	}
	if diff := cmp.Diff("lifecycle_events_pending{reason=NotNoticed} 1000", exposed(t, registry, "lifecycle_events_pending", "node_stalled")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHealthIsAskedWhenItIsRead(t *testing.T) {
	registry := prometheus.NewRegistry()
	var matter error
	if err := RegisterHealth(registry, []HealthCheck{
		{Probe: "readiness", Name: "caches", Check: func() error { return matter }},
		{Probe: "liveness", Name: "loop", Check: func() error { return nil }},
	}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		matter error
		ready  int
	}{{nil, 1}, {errors.New("not filled"), 0}, {nil, 1}} {
		matter = tc.matter
		want := fmt.Sprintf("health_check{check=caches,probe=readiness} %d\nhealth_check{check=loop,probe=liveness} 1", tc.ready)
		if diff := cmp.Diff(want, exposed(t, registry, "health_check")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
