// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

func TestWhatWasWrittenCountsUntilTheWatchShowsIt(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	m := newMemory[*lifecyclev1alpha1.LifecycleEvent](clock)
	at := func(version string) *lifecyclev1alpha1.LifecycleEvent {
		e := anEvent("a")
		e.ResourceVersion = version
		return e
	}
	now := func(seen ...*lifecyclev1alpha1.LifecycleEvent) string {
		var all []string
		for _, e := range m.newest(seen) {
			text := e.ResourceVersion
			if e.DeletionTimestamp != nil {
				text += " deleted"
			}
			all = append(all, text)
		}
		return strings.Join(all, ", ")
	}
	check := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	m.keep(at("5"))
	check("not shown yet", now(), "5")
	check("an older one is shown", now(at("4")), "5")
	check("a newer one is shown", now(at("6")), "6")
	check("it was shown, and is gone", now(), "")
	m.keep(at("7"))
	check("it is shown as it was written", now(at("7")), "7")
	m.deleted(at("7"))
	check("deleted, and the watch is late", now(at("7")), "7 deleted")
	check("deleted, and somebody has changed it since", now(at("8")), "8")
	m.keep(at("9"))
	m.forget("uid-of-a")
	check("shown to be gone", now(), "")
	m.keep(at("9"))
	clock.Step(believed - time.Second)
	check("not shown for a while", now(), "9")
	if due := m.due(); !due.Equal(clock.Now().Add(time.Second)) {
		t.Errorf("it is to be looked at again at %s", due)
	}
	clock.Step(time.Second)
	check("not shown for too long", now(), "")
	gone := at("9")
	gone.Finalizers = nil
	m.deleted(gone)
	check("nothing holds it", now(at("9")), "9")
	if due := m.due(); !due.IsZero() {
		t.Errorf("it is to be looked at again at %s", due)
	}
}

func TestANodeThatSaysThatItIsAliveAsksForNoPass(t *testing.T) {
	node := func(change func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{}
		n.Labels, n.Annotations = map[string]string{"a": "b"}, map[string]string{"c": "d"}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		change(n)
		return n
	}
	for name, tc := range map[string]struct {
		change func(*corev1.Node)
		want   bool
	}{
		"a heartbeat": {func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime.Time = time.Unix(1, 0) }, false},
		"not Ready":   {func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }, true},
		"a condition": {func(n *corev1.Node) {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: "X"})
		}, true},
		"a label":      {func(n *corev1.Node) { n.Labels["a"] = "c" }, true},
		"a record":     {func(n *corev1.Node) { n.Annotations["c"] = "e" }, true},
		"a cordon":     {func(n *corev1.Node) { n.Spec.Unschedulable = true }, true},
		"a taint":      {func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "x"}} }, true},
		"another node": {func(n *corev1.Node) { n.UID = "other" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := nodeChanged(node(func(*corev1.Node) {}), node(tc.change)); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
