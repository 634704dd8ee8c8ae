// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// exposed are the lines of metrics with the given names.
func exposed(t *testing.T, registry *prometheus.Registry, names ...string) string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue()
			if h := m.GetHistogram(); h != nil {
				value = h.GetSampleSum()
			}
			for _, name := range names {
				if family.GetName() == "slipway_"+name {
					lines = append(lines, fmt.Sprintf("%s{%s} %v", name, strings.Join(labels, ","), value))
				}
			}
		}
	}
	return strings.Join(lines, "\n")
}

// used is a registry in which each metric has a value.
func used(t *testing.T) *prometheus.Registry {
	t.Helper()
	registry := prometheus.NewRegistry()
	s := sourceOf(t, Controller, kubernetesfake.NewClientset(), registry)
	o := s.Node("n")
	event := eventIn(lifecyclev1alpha1.Pending)
	event.CreationTimestamp = metav1.NewTime(noon.Add(-10 * time.Second))
	claimed := eventIn(lifecyclev1alpha1.Claimed, metav1.Condition{
		Type: "Claimable", Status: "True", Reason: "Claimed", LastTransitionTime: metav1.NewTime(noon),
	})
	o.Wrote(event, claimed.Status, noon)
	emergency := event.DeepCopy()
	emergency.Annotations = map[string]string{lifecyclev1alpha1.BreakGlassAnnotation: "true"}
	o.Wrote(emergency, claimed.Status, noon)
	ended := eventIn(lifecyclev1alpha1.SlaExpired,
		metav1.Condition{Type: "Finished", Status: "True", Reason: "SlaExpired"},
		metav1.Condition{Type: "BudgetsOverridden", Status: "True", Message: "1 deleted"})
	o.Wrote(claimed, ended.Status, noon.Add(time.Minute))
	standing := held(map[string]time.Duration{"b": 0}, "Pod shop/a", "R")
	standing.Status.SLA = new(metav1.NewTime(noon.Add(time.Hour)))
	standing.Status.Conditions = []metav1.Condition{
		claimed.Status.Conditions[0], {Type: "Stalled", Status: "True", Reason: "AgentMissing"},
	}
	o.Look([]*lifecyclev1alpha1.LifecycleEvent{standing}, nil, noon)
	gated := eventIn("", metav1.Condition{Type: "GuardsPassed", Status: "False", Reason: "HeldByAnother"})
	s.Oversees("n", []*lifecyclev1alpha1.LifecycleEvent{standing, event, gated}, []*slipwayv1alpha1.NodeHold{heldUntil(300)})
	s.Maintenances().Stand(statusOf(1, 0, 1, "Progressing", "False", "MaxUnavailable"), noon)
	if err := RegisterHealth(registry, []HealthCheck{{Probe: "readiness", Name: "caches", Check: func() error { return nil }}}); err != nil {
		t.Fatal(err)
	}
	s.Drains().Evicted()
	s.Drains().Refused("BudgetExhausted")
	s.Drains().EvictedAfter(20 * time.Millisecond)
	s.Calls().Called("d", "StartLifecycleTransition", "OK", time.Second)
	s.ShutdownEnded("ShutdownFinished")
	s.LeftToKubernetes()
	host, err := NewHost(registry)
	if err != nil {
		t.Fatal(err)
	}
	host.Delay(5 * time.Minute)
	return registry
}

func TestMetricsKeepTheConventions(t *testing.T) {
	registry := used(t)
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestWhatHappensIsCounted(t *testing.T) {
	got := exposed(t, used(t), "lifecycle_events_claimed_total", "lifecycle_events_finished_total",
		"lifecycle_events_break_glass_total", "lifecycle_events_budgets_overridden_total", "lifecycle_event_phase_duration_seconds", "drain_pods_evicted_total",
		"drain_evictions_refused_total", "drain_budget_open_to_eviction_seconds", "driver_calls_total", "node_state", "api_home_info")
	want := strings.TrimSpace(`
api_home_info{group=slm.slipway.dev} 1
drain_budget_open_to_eviction_seconds{} 0.02
drain_evictions_refused_total{reason=BudgetExhausted} 1
drain_pods_evicted_total{} 1
driver_calls_total{code=OK,driver=d,method=StartLifecycleTransition} 1
lifecycle_event_phase_duration_seconds{phase=waiting,transition=t} 20
lifecycle_event_phase_duration_seconds{phase=working,transition=t} 60
lifecycle_events_break_glass_total{transition=t} 1
lifecycle_events_budgets_overridden_total{transition=t} 1
lifecycle_events_claimed_total{transition=t} 2
lifecycle_events_finished_total{phase=SlaExpired,reason=SlaExpired,transition=t} 1
node_state{node=n,state=claimed,transition=t} 1
`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBlockedTimeGrowsWhileItStandsAndIsKept(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := source(t, kubernetesfake.NewClientset(), registry)
	clock := clocktesting.NewFakePassiveClock(noon)
	s.nodes.clock = clock
	at := func(d time.Duration, node string, uid types.UID, reasons ...string) {
		event := eventIn(lifecyclev1alpha1.Claimed)
		event.UID, event.Status.State = uid, "drain-started"
		for _, r := range reasons {
			event.Status.Blockers = append(event.Status.Blockers, lifecyclev1alpha1.Blocker{Reason: r})
		}
		clock.SetTime(noon.Add(d))
		if uid == "" {
			s.Node(node).Look(nil, nil, clock.Now())
			return
		}
		s.Node(node).Look([]*lifecyclev1alpha1.LifecycleEvent{event}, nil, clock.Now())
	}
	expect := func(d time.Duration, want ...string) {
		t.Helper()
		clock.SetTime(noon.Add(d))
		if diff := cmp.Diff(strings.Join(want, "\n"), exposed(t, registry, "drain_blocked_seconds_total", "node_state")); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", d, diff)
		}
	}
	const n, m = "node_state{node=n,state=drain-started,transition=t} 1", "node_state{node=m,state=drain-started,transition=t} 1"
	at(0, "n", "1", "A", "A", "B")
	expect(10*time.Second, "drain_blocked_seconds_total{reason=A} 10", "drain_blocked_seconds_total{reason=B} 10", n)
	at(20*time.Second, "n", "1", "A")
	at(20*time.Second, "m", "2", "A")
	expect(30*time.Second, "drain_blocked_seconds_total{reason=A} 40", "drain_blocked_seconds_total{reason=B} 20", m, n)
	at(40*time.Second, "n", "3", "A") // another event
	at(50*time.Second, "n", "")
	at(50*time.Second, "m", "")
	expect(time.Hour, "drain_blocked_seconds_total{reason=A} 80", "drain_blocked_seconds_total{reason=B} 20")
}

func TestADrainGetsOnWhenPodsLeaveAndNotWhenItIsOnlyLookedAt(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := source(t, kubernetesfake.NewClientset(), registry)
	look := func(at int64, uid types.UID, state string, done, total int32) {
		event := eventIn(lifecyclev1alpha1.Claimed)
		event.UID, event.Status.State = uid, state
		event.Status.Progress = &lifecyclev1alpha1.Progress{Done: done, Total: total}
		s.Node("n").Look([]*lifecyclev1alpha1.LifecycleEvent{event}, nil, time.Unix(at, 0))
	}
	for _, step := range []struct {
		when        string
		at          int64
		uid         types.UID
		state       string
		done, total int32
		want        int64
	}{
		{"it is seen first", 1000, "1", "", 0, 4, 1000},
		{"it is looked at again", 2000, "1", "", 0, 4, 1000},
		{"it has begun", 3000, "1", "drain-started", 0, 4, 3000},
		{"a pod has left", 4000, "1", "drain-started", 1, 4, 4000},
		{"pods have come", 5000, "1", "drain-started", 1, 6, 4000},
		{"another event is worked on", 6000, "2", "drain-started", 1, 6, 6000},
	} {
		look(step.at, step.uid, step.state, step.done, step.total)
		want := fmt.Sprintf("node_progress_timestamp_seconds{node=n} %d", step.want)
		if got := exposed(t, registry, "node_progress_timestamp_seconds"); got != want {
			t.Errorf("when %s: got %q, want %q", step.when, got, want)
		}
	}
	s.Node("n").Look(nil, nil, noon)
	if got := exposed(t, registry, "node_progress_timestamp_seconds"); got != "" {
		t.Errorf("when it is over: %q", got)
	}
}

func TestWhatOthersInventDoesNotFillTheRegistry(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := source(t, kubernetesfake.NewClientset(), registry)
	for i := range 1000 {
		name := fmt.Sprint("invented-", i)
		event := eventIn(lifecyclev1alpha1.Claimed)
		event.Spec.TransitionName = name
		after := event.DeepCopy()
		after.Status.ClaimStatus = lifecyclev1alpha1.Failed
		after.Status.Conditions = []metav1.Condition{{Type: "Finished", Reason: name}}
		s.Node(name).Wrote(event, after.Status, noon)
		event.Status.Blockers = []lifecyclev1alpha1.Blocker{{Reason: name}}
		s.Node("n").Look([]*lifecyclev1alpha1.LifecycleEvent{event}, nil, noon)
		s.Calls().Called(name, "End", "OK", 0)
		s.Drains().Refused(name)
	}
	unclaimed := eventIn(lifecyclev1alpha1.Pending)
	unclaimed.Spec.TransitionName = "nobody-has-published-it"
	s.Node("n").Wrote(unclaimed, lifecyclev1alpha1.LifecycleEventStatus{ClaimStatus: lifecyclev1alpha1.Failed}, noon)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if n := len(family.GetMetric()); n > maxWords+2 {
			t.Errorf("%s has %d series", family.GetName(), n)
		}
	}
	if got := exposed(t, registry, "lifecycle_events_finished_total"); strings.Contains(got, "nobody") {
		t.Errorf("an event that was never claimed has a series of its own:\n%s", got)
	}
}
