// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// source is that of one process among several that share a cluster.
func source(t *testing.T, clients *kubernetesfake.Clientset, registry *prometheus.Registry) *Source {
	t.Helper()
	return sourceOf(t, NodeAgent, clients, registry)
}

func sourceOf(t *testing.T, component string, clients *kubernetesfake.Clientset, registry *prometheus.Registry) *Source {
	t.Helper()
	s, err := New(context.WithoutCancel(t.Context()), Options{
		Component: component, APIGroup: lifecyclev1alpha1.GroupSlipway, Events: clients.CoreV1(), Metrics: registry,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// next is what is created, or written, next.
func next(t *testing.T, w watch.Interface) string {
	t.Helper()
	giveUp := time.NewTimer(time.Minute)
	defer giveUp.Stop()
	select {
	case change := <-w.ResultChan():
		e := change.Object.(*corev1.Event)
		return string(change.Type) + " " + e.Namespace + " " + e.InvolvedObject.Kind + " " + string(e.InvolvedObject.UID) + " " + e.Reason
	case <-giveUp.C:
		t.Fatal("no core Event within a minute")
		return ""
	}
}

func TestPeopleAreToldAtTheNodeAndAtTheEventAndNotTwice(t *testing.T) {
	clients := kubernetesfake.NewClientset()
	w, err := clients.CoreV1().Events("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	event := held(map[string]time.Duration{"PodDisruptionBudget shop/b": time.Minute}, "Pod shop/a", "BudgetExhausted")
	look := func(o *Observer, events ...*lifecyclev1alpha1.LifecycleEvent) {
		o.Look(events, nil, noon)
	}
	first := source(t, clients, prometheus.NewRegistry()).Node("n")
	look(first, event)
	got := []string{next(t, w), next(t, w)}
	want := []string{"ADDED default Node n LifecycleEventBlocked", "ADDED default LifecycleEvent 1 LifecycleEventBlocked"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}

	look(first, event)                              // it still stands
	look(first, eventIn(lifecyclev1alpha1.Claimed)) // it does not
	look(first, event)                              // it does again
	// An agent that has begun anew knows nothing of it, and another budget is news.
	second := source(t, clients, prometheus.NewRegistry()).Node("n")
	look(second, event)
	look(second, held(map[string]time.Duration{"PodDisruptionBudget shop/c": time.Minute}, "Pod shop/a", "BudgetExhausted"))
	next(t, w)
	next(t, w)
	var all []string
	list, err := clients.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list.Items {
		all = append(all, e.InvolvedObject.Kind+" "+e.Message)
	}
	slices.Sort(all)
	const text = " LifecycleEvent e is blocked at Pod shop/a: BudgetExhausted by PodDisruptionBudget shop/"
	want = []string{"LifecycleEvent" + text + "b: why", "LifecycleEvent" + text + "c: why", "Node" + text + "b: why", "Node" + text + "c: why"}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("core Events (-want +got):\n%s", diff)
	}
}

func TestAHolderIsToldWhoHasReleasedItsHold(t *testing.T) {
	clients := kubernetesfake.NewClientset()
	w, err := clients.CoreV1().Events("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	h := &slipwayv1alpha1.NodeHold{Spec: slipwayv1alpha1.NodeHoldSpec{NodeName: "n", EventName: "drain-n", EventUID: "7", User: "ada"}}
	sourceOf(t, Controller, clients, prometheus.NewRegistry()).Node("n").HoldReleased(h, "user \"bob\" has uncordoned the node")
	got := []string{next(t, w), next(t, w)}
	want := []string{"ADDED default Node n HoldReleased", "ADDED default LifecycleEvent 7 HoldReleased"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
