// SPDX-License-Identifier: Apache-2.0

package evictions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/utils/clock"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

const (
	// atOnce is how many evictions are asked for at the same time. bench evictions has more.
	atOnce = 200
	// affordable is how many requests of the API server an eviction may take, of whoever
	// works on it.
	affordable = 12
)

// TestManyAtOnce has all of many evictions end, for few requests each.
func TestManyAtOnce(t *testing.T) {
	g := newGround(t, place{"built in", true})
	g.control(t, clock.RealClock{})
	last := &lastResponder{t: t, ground: g}
	last.start()
	t.Cleanup(func() { last.stop() })
	s := g.scene(t)
	began := time.Now()
	var asking sync.WaitGroup
	for i := range atOnce {
		asking.Go(func() {
			name := fmt.Sprintf("p%d", i)
			s.ask(name, s.pod(name))
		})
	}
	asking.Wait()
	s.awaitAllEvicted(atOnce)
	t.Logf("%d evictions in %s", atOnce, time.Since(began).Round(time.Millisecond))

	count := map[string]int{}
	total := 0
	for _, r := range s.env.Requests(t, func(r auditlog.Request) bool { return r.Namespace == s.namespace && worksOnEvictions(r) }) {
		what := r.Verb + " " + r.Resource
		if r.Subresource != "" {
			what += "/" + r.Subresource
		}
		count[what]++
		total++
	}
	for _, what := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%-34s %5.2f for an eviction", what, float64(count[what])/atOnce)
	}
	t.Logf("%-34s %5.2f for an eviction", "all", float64(total)/atOnce)
	if total > affordable*atOnce {
		t.Errorf("%d evictions took %d requests, want %d at most", atOnce, total, affordable*atOnce)
	}
}

// worksOnEvictions leaves out what the test asks for itself, and what Kubernetes does.
func worksOnEvictions(r auditlog.Request) bool {
	asksItself := r.Verb == "create" && (r.Resource == "evictionrequests" || r.Resource == "pods" && r.Subresource == "")
	return r.Verb != "watch" && !asksItself && (r.User == controllerUser || r.User == "admin")
}

// awaitAllEvicted waits until so many requesters have been told that their pod is gone.
func (s *scene) awaitAllEvicted(many int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 3*patience)
	defer cancel()
	told := map[string]bool{}
	lister := cache.NewListWatchFromClient(s.clients.LifecycleV1alpha1().RESTClient(), "evictionrequests", s.namespace, fields.Everything())
	_, err := watchtools.UntilWithSync(ctx, lister, &evictionv1alpha1.EvictionRequest{}, nil, func(e watch.Event) (bool, error) {
		if r, ok := e.Object.(*evictionv1alpha1.EvictionRequest); ok && has(r.Status.Conditions, evicted, evictionv1alpha1.EvictionConditionReasonPodDeleted) {
			told[r.Name] = true
		}
		return len(told) == many, nil
	})
	if err != nil {
		s.t.Fatalf("%d of %d pods are gone: %v", len(told), many, err)
	}
}
