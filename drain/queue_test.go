// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/slipway-k8s/slipway/drain/watchstore"
)

// evicting is the budget as the server leaves it after it has let the pod go.
func evicting(pod string, at time.Time) func(*policyv1.PodDisruptionBudget) {
	return func(pdb *policyv1.PodDisruptionBudget) {
		pdb.Status.DisruptedPods = map[string]metav1.Time{pod: {Time: at}}
	}
}

func TestBudgetQueue(t *testing.T) {
	before := newPDB("web")
	after := newPDB("web", evicting("a", noon))
	cases := map[string]struct {
		events func(l *budgetQueue, c *testingclock.FakeClock)
		busy   bool
	}{
		"a slot is taken while the eviction is in flight": {func(*budgetQueue, *testingclock.FakeClock) {}, true},
		"a refusal frees it": {func(l *budgetQueue, _ *testingclock.FakeClock) {
			l.settle(before.UID, false)
		}, false},
		"an accepted eviction keeps it until the budget shows it": {func(l *budgetQueue, _ *testingclock.FakeClock) {
			l.settle(before.UID, true)
		}, true},
		"the budget shows the eviction after the answer": {func(l *budgetQueue, _ *testingclock.FakeClock) {
			l.settle(before.UID, true)
			l.observe(after)
		}, false},
		"the budget shows the eviction before the answer": {func(l *budgetQueue, _ *testingclock.FakeClock) {
			l.observe(after)
			l.settle(before.UID, true)
		}, false},
		"the budget shows the eviction, but there is no answer yet": {func(l *budgetQueue, _ *testingclock.FakeClock) {
			l.observe(after)
		}, true},
		"the budget shows it, and shows the pod's end, all before the answer": {func(l *budgetQueue, _ *testingclock.FakeClock) {
			l.observe(after)
			l.observe(before)
			l.settle(before.UID, true)
		}, false},
		"the budget changes for another reason": {func(l *budgetQueue, _ *testingclock.FakeClock) {
			l.settle(before.UID, true)
			l.observe(newPDB("web", evicting("z", noon)))
		}, true},
		"another budget changes": {func(l *budgetQueue, _ *testingclock.FakeClock) {
			l.settle(before.UID, true)
			l.observe(newPDB("db", evicting("a", noon)))
		}, true},
		"the update never comes": {func(l *budgetQueue, c *testingclock.FakeClock) {
			l.settle(before.UID, true)
			c.Step(staleFor)
		}, false},
		"the update has not come yet": {func(l *budgetQueue, c *testingclock.FakeClock) {
			l.settle(before.UID, true)
			c.Step(staleFor - 1)
		}, true},
		"an answer that never comes is not forgotten": {func(_ *budgetQueue, c *testingclock.FakeClock) {
			c.Step(time.Hour)
		}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := testingclock.NewFakeClock(noon)
			l := newBudgetQueue(c)
			if !l.reserve(before, "a", watchstore.NewSignal()) {
				t.Fatal("the first one does not get the slot")
			}
			tc.events(l, c)
			other := watchstore.NewSignal()
			if _, busy := l.busy(before, other); busy != tc.busy {
				t.Errorf("busy: got %t, want %t", busy, tc.busy)
			}
			if got := l.reserve(before, "b", other); got == tc.busy {
				t.Errorf("the next one gets the slot: %t", got)
			}
		})
	}
}

func TestBudgetQueueIgnoresTheTraceOfAnEarlierEviction(t *testing.T) {
	l := newBudgetQueue(testingclock.NewFakeClock(noon))
	stale := newPDB("web", evicting("a", noon.Add(-time.Minute)))
	l.reserve(stale, "a", watchstore.NewSignal())
	l.settle(stale.UID, true)
	l.observe(stale)
	if _, busy := l.busy(stale, watchstore.NewSignal()); !busy {
		t.Error("the trace of an earlier eviction was taken for ours")
	}
}

func TestBudgetQueueWakesThoseWhoWait(t *testing.T) {
	l := newBudgetQueue(testingclock.NewFakeClock(noon))
	b := newPDB("web")
	l.reserve(b, "a", watchstore.NewSignal())
	waiting := watchstore.NewSignal()
	l.busy(b, waiting)
	l.settle(b.UID, false)
	select {
	case <-waiting:
	default:
		t.Error("not woken")
	}
}

// TestBudgetQueueForgetsWhatIsAnsweredAfterItsWatchHasEnded shows what a Drain that leaves a namespace with an eviction under
// way leaves behind.
func TestBudgetQueueForgetsWhatIsAnsweredAfterItsWatchHasEnded(t *testing.T) {
	b := newPDB("web")
	for name, answer := range map[string]func(l *budgetQueue){
		"accepted": func(l *budgetQueue) { l.settle(b.UID, true) },
		"refused": func(l *budgetQueue) {
			l.refused(b, "a")
			l.settle(b.UID, false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newBudgetQueue(testingclock.NewFakeClock(noon))
			l.reserve(b, "a", watchstore.NewSignal())
			l.forget(b.Namespace)
			if len(l.reserved) != 1 {
				t.Fatal("its slot is free before it is answered")
			}
			answer(l)
			if len(l.reserved) > 0 || len(l.by) > 0 {
				t.Errorf("%d slots and the contenders of %d namespaces are left", len(l.reserved), len(l.by))
			}
			if l.reach != 1 || l.lag != lagFirst {
				t.Errorf("who comes next begins with reach %d, lag %s", l.reach, time.Duration(l.lag))
			}
		})
	}
}

func TestBudgetQueueKeepsASlotOfANamespaceThatIsWatchedAgain(t *testing.T) {
	l := newBudgetQueue(testingclock.NewFakeClock(noon))
	b := newPDB("web")
	l.reserve(b, "a", watchstore.NewSignal())
	l.forget(b.Namespace)
	l.observe(b)
	l.settle(b.UID, true)
	if _, busy := l.busy(b, watchstore.NewSignal()); !busy {
		t.Error("it is free although the watch has not shown the eviction yet")
	}
}
