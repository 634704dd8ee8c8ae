// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/slipway-k8s/slipway/drain"
)

// TestNoEvictPodBreaksABudgetWhateverTheTiming has the pods of three nodes leave, by EvictPod and by the drain of one of
// the nodes by another process, while pods and budgets change all the time.
func TestNoEvictPodBreaksABudgetWhateverTheTiming(t *testing.T) {
	t.Parallel()
	seed := seedOf(t)
	s := newScene(t, 5)
	u := &turmoil{scene: s, random: rand.New(rand.NewPCG(seed, 0)), apps: []string{"a", "b", "c", "d"}, draining: s.nodes[:3]}
	u.populate(9)
	drainer := func() *drain.Drainer {
		return u.drainerWith(u.as(t, rest.ImpersonationConfig{UserName: bothNodes, Groups: []string{"system:masters", "system:authenticated"}}))
	}
	s.evictsAnywhere()
	u.began = time.Now()
	var trips []*trip
	first := drainer()
	for _, app := range u.apps {
		for _, pod := range u.podsOf(app) {
			trips = append(trips, u.evict(first, &pod))
		}
	}
	u.cordon(s.nodes[2])
	w := u.drain(u.drainer(s.nodes[2]), s.nodes[2])
	u.restart = func(string) error {
		again := drainer()
		for _, e := range trips {
			e.cancel(errors.New("restarted"))
		}
		for i, e := range trips {
			if err := e.end(); err != nil { // else it was over before
				trips[i] = u.evict(again, e.pod)
			} else {
				e.result <- nil
			}
		}
		return nil
	}
	done := 0
	over := func(e *trip) bool { return len(e.result) > 0 }
	for ; done < disturbances && slices.ContainsFunc(trips, func(e *trip) bool { return !over(e) }); done++ {
		u.pass(u.random.IntN(12))
		u.disturb()
	}
	u.relax()
	for _, e := range trips {
		u.must(e.end())
	}
	u.must(w.end())
	u.judge(time.Now())
	t.Logf("%d disturbances: %v", done, u.done)
}
