// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestManyPodsShareBudgets has 300 pods under three budgets, and 300 without, leave at once.
func TestManyPodsShareBudgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each = 100
		var objects []runtime.Object
		var names []string
		for i := range 6 * each {
			app := []string{"one", "two", "three", "free", "free", "free"}[i%6]
			name := fmt.Sprintf("%s-%d", app, i)
			names = append(names, name)
			objects = append(objects, fakePod(name, func(p *corev1.Pod) {
				p.Labels["app"], p.Spec.NodeName = app, fmt.Sprintf("w%d", i%7)
			}))
		}
		for _, app := range []string{"one", "two", "three"} {
			b := fakeBudget(app, each)
			b.Spec.Selector.MatchLabels["app"] = app
			objects = append(objects, b)
		}
		s := newFakeServer(t, objects...)
		var mu sync.Mutex
		flying, most := map[string]int{}, 0
		s.answerWith(func(e *policyv1.Eviction) error {
			app := fakeApp(e.Name)
			mu.Lock()
			if flying[app]++; app != "free" && flying[app] > 1 {
				t.Errorf("two evictions are in flight under budget %s", app)
			}
			flying[""]++
			most = max(most, flying[""])
			mu.Unlock()
			<-time.After(20 * time.Millisecond)
			mu.Lock()
			flying[app]--
			flying[""]--
			mu.Unlock()
			return nil
		})
		d := newDrainer(t, s)
		all := make([]*evicting, len(names))
		for i, name := range names {
			all[i] = startEvicting(t, d, name)
		}
		for _, e := range all {
			if err := e.end(); err != nil {
				t.Error(err)
			}
		}
		if n := len(s.evictions()); n != len(names) {
			t.Errorf("asked %d times for %d pods", n, len(names))
		}
		if most > 64 {
			t.Errorf("%d evictions in flight", most)
		}
		requests := map[string]int{}
		for _, a := range s.Actions() {
			requests[a.GetVerb()+" "+a.GetResource().Resource]++
		}
		want := map[string]int{"list pods": 1, "watch pods": 1, "list poddisruptionbudgets": 1, "watch poddisruptionbudgets": 1}
		if diff := cmp.Diff(want, requests); diff != "" {
			t.Errorf("requests besides evictions (-want +got):\n%s", diff)
		}
	})
}

func fakeApp(pod string) string {
	i := slices.Index([]byte(pod), '-')
	return pod[:i]
}
