// SPDX-License-Identifier: Apache-2.0

package evictions

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// hasNoClock is what Evictions and requests come to wherever the server has a clock, or has
// none: all states, and each reason of each condition.
var hasNoClock = []string{
	"Eviction: Failed AwaitingEviction",
	"Eviction: Failed CanceledDueToNoRequesters",
	"Eviction: Failed EvictionInvalid",
	"Eviction: Failed NoFurtherResponder",
	"Eviction: Failed Succeeded",
	"Eviction: TargetEvicted AwaitingEviction",
	"Eviction: TargetEvicted EvictionFailed",
	"Eviction: TargetEvicted PodDeleted",
	"Eviction: TargetEvicted PodTerminal",
	"EvictionRequest: Failed AwaitingEviction",
	"EvictionRequest: Failed CanceledDueToNoRequesters",
	"EvictionRequest: Failed EvictionInvalid",
	"EvictionRequest: Failed NoFurtherResponder",
	"EvictionRequest: Failed Succeeded",
	"EvictionRequest: TargetEvicted AwaitingEviction",
	"EvictionRequest: TargetEvicted EvictionFailed",
	"EvictionRequest: TargetEvicted PodDeleted",
	"EvictionRequest: TargetEvicted PodTerminal",
	"responder: Active",
	"responder: Canceled",
	"responder: Completed",
	"responder: Inactive",
	"responder: Interrupted",
}

// takesTime is what they come to when it passes.
var takesTime = []string{"responder: Active", "responder: Completed", "responder: Inactive", "responder: Interrupted"}

// seen is what Evictions and requests have come to on a cluster.
type seen struct {
	mu  sync.Mutex
	all map[string]bool
}

// watch begins to watch what they come to, until the test ends.
func (g *ground) watch(t *testing.T) *seen {
	t.Helper()
	s := &seen{all: map[string]bool{}}
	factory := informers.NewSharedInformerFactory(g.clients, 0)
	api := factory.Lifecycle().V1alpha1()
	for _, informer := range []cache.SharedIndexInformer{api.Evictions().Informer(), api.EvictionRequests().Informer()} {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    s.saw,
			UpdateFunc: func(_, o any) { s.saw(o) },
		}); err != nil {
			t.Fatal(err)
		}
	}
	stop := make(chan struct{})
	factory.Start(stop)
	t.Cleanup(func() { close(stop); factory.Shutdown() })
	return s
}

func (s *seen) saw(o any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o := o.(type) {
	case *evictionv1alpha1.Eviction:
		s.conditions("Eviction", o.Status.Conditions)
		for _, r := range o.Status.TargetResponders {
			s.all["responder: "+string(r.State)] = true
		}
	case *evictionv1alpha1.EvictionRequest:
		s.conditions("EvictionRequest", o.Status.Conditions)
	}
}

func (s *seen) conditions(kind string, conditions []metav1.Condition) {
	for _, c := range conditions {
		s.all[kind+": "+c.Type+" "+c.Reason] = true
	}
}

// check wants that all of it was seen, and nothing else of that kind.
func (s *seen) check(t *testing.T, want []string) {
	t.Helper()
	if strings.Count(flag.Lookup("test.run").Value.String(), "/") > 1 || flag.Lookup("test.skip").Value.String() != "" {
		t.Skip("not all cases were run")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	got := slices.Sorted(maps.Keys(s.all))
	if len(want) == len(takesTime) {
		got = slices.DeleteFunc(got, func(what string) bool { return !strings.HasPrefix(what, "responder: ") })
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what Evictions and requests have come to (-want +got):\n%s", diff)
	}
}
