// SPDX-License-Identifier: Apache-2.0

package evictions

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The moments of a story.
const (
	atTheBeginning = "at the beginning"
	whenAsked      = "when a has asked"
	whenAskedAgain = "when b has asked"
	beforeTheEnd   = "before the end"
	whenGone       = "when the pod is gone"
)

// story has two requesters, of which one withdraws, and two responders, of which one
// completes and the other sees its pod go. It waits for each thing to be done, so that
// what is written is the same each time. at is called at each moment.
func (s *scene) story(at func(moment string)) {
	s.t.Helper()
	at(atTheBeginning)
	pod := s.pod("p", responder(backup, 20000), responder(migrate, 15000))
	s.ask("a", pod)
	at(whenAsked)
	s.awaitAware("a")
	s.ask("b", pod)
	at(whenAskedAgain)
	s.awaitAware("b")
	s.withdraw("a")
	s.awaitAware("a")
	s.must(s.respond("pod-1-p", backup, completed(time.Now())))
	s.awaitActive("pod-1-p", migrate)
	at(beforeTheEnd)
	s.remove(pod)
	at(whenGone)
	s.awaitTold("a", evicted, evictionv1alpha1.EvictionConditionReasonPodDeleted)
	s.awaitTold("b", evicted, evictionv1alpha1.EvictionConditionReasonPodDeleted)
}

// awaitAware waits until a requester has been told how it stands, and its Eviction says
// what it wants.
func (s *scene) awaitAware(name string) {
	s.t.Helper()
	r := await(s, "evictionrequests", name, "knows", &evictionv1alpha1.EvictionRequest{}, func(r *evictionv1alpha1.EvictionRequest) bool {
		return r.Status.ObservedGeneration != nil && *r.Status.ObservedGeneration == r.Generation && len(r.Status.Conditions) == 2
	})
	want := evictionv1alpha1.Requester{Name: r.Spec.Requester, Intent: evictionv1alpha1.RequesterIntent(r.Spec.Intent)}
	s.awaitEviction("pod-1-p", fmt.Sprint(want), func(e *evictionv1alpha1.Eviction) bool {
		return slices.ContainsFunc(e.Status.Requesters, func(o evictionv1alpha1.Requester) bool { return cmp.Equal(o, want) })
	})
}

// end is what there is when the story is over, but for names that are drawn and times.
func (s *scene) end() string {
	s.t.Helper()
	var out strings.Builder
	evictions, err := s.clients.LifecycleV1alpha1().Evictions(s.namespace).List(s.t.Context(), metav1.ListOptions{})
	s.must(err)
	for _, e := range evictions.Items {
		fmt.Fprintf(&out, "%s of pod %s\n", e.Name, e.Spec.Target.Pod.Name)
		for _, name := range slices.Sorted(maps.Keys(e.Labels)) {
			fmt.Fprintf(&out, "  label %s: %s\n", name, e.Labels[name])
		}
		for _, o := range e.OwnerReferences {
			fmt.Fprintf(&out, "  owner %s %s\n", o.Kind, o.Name)
		}
		for _, r := range e.Status.Requesters {
			fmt.Fprintf(&out, "  %s wants %s\n", r.Name, r.Intent)
		}
		for i, r := range e.Status.TargetResponders {
			own := e.Status.Responders[i]
			fmt.Fprintf(&out, "  %s(%d) %s, started %t, completed %t\n", r.Name, *r.Priority, r.State, own.StartTime != nil, own.CompletionTime != nil)
		}
		out.WriteString(conditionsOf(e.Status.Conditions))
	}
	requests, err := s.clients.LifecycleV1alpha1().EvictionRequests(s.namespace).List(s.t.Context(), metav1.ListOptions{})
	s.must(err)
	for _, r := range requests.Items {
		fmt.Fprintf(&out, "%s, observed at %d\n%s", r.Name, *r.Status.ObservedGeneration, conditionsOf(r.Status.Conditions))
	}
	return out.String()
}

func conditionsOf(conditions []metav1.Condition) string {
	var out strings.Builder
	for _, c := range conditions {
		fmt.Fprintf(&out, "  %s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	return out.String()
}
