// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"maps"
	"slices"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/slipway-k8s/slipway/drain/watchstore"
)

// shown is a version of the budget web that allows so many disruptions, with entries for these pods.
func shown(allowed int32, pods ...string) *budget {
	return newPDB("web", func(pdb *policyv1.PodDisruptionBudget) {
		pdb.Status.DisruptionsAllowed = allowed
		pdb.Status.DisruptedPods = map[string]metav1.Time{}
		for _, pod := range pods {
			pdb.Status.DisruptedPods[pod] = metav1.Time{Time: noon}
		}
	})
}

func TestContender(t *testing.T) {
	const pause = time.Second
	type script struct {
		*contender
		now time.Time
	}
	see := func(s *script, versions ...*budget) {
		for _, v := range versions {
			s.saw(v, s.now, pause)
			s.now = s.now.Add(100 * time.Millisecond)
		}
	}
	cases := map[string]struct {
		events func(s *script)
		// after noon is our turn; zero: at once.
		after time.Duration
	}{
		"a budget that opens is taken at once": {func(s *script) {
			see(s, shown(0), shown(1))
		}, 0},
		"entries of our own do not keep us": {func(s *script) {
			s.sent("ours")
			see(s, shown(2), shown(1, "ours"), shown(0, "ours"), shown(0), shown(1))
		}, 0},
		"somebody else evicts, and the budget closes": {func(s *script) {
			see(s, shown(1), shown(0, "theirs"))
		}, 0},
		"it opens again for the one who was there last": {func(s *script) {
			see(s, shown(1), shown(0, "theirs"), shown(0), shown(1))
		}, 300*time.Millisecond + pause},
		"somebody else has evicted when we look first": {func(s *script) {
			see(s, shown(1, "theirs"))
		}, pause},
		"a budget that stays open as it was does not begin anew": {func(s *script) {
			see(s, shown(1, "theirs"), shown(1), shown(2))
		}, pause},
		"somebody else goes on while it is open": {func(s *script) {
			see(s, shown(3, "theirs"), shown(2, "theirs", "theirs too"))
		}, 100*time.Millisecond + pause},
		"a second eviction of a pod of the same name is another one": {func(s *script) {
			again := shown(1)
			again.Status.DisruptedPods["theirs"] = metav1.Time{Time: noon.Add(time.Minute)}
			see(s, shown(2, "theirs"), again)
		}, 100*time.Millisecond + pause},
		"we were there last": {func(s *script) {
			s.sent("ours")
			see(s, shown(1, "theirs"), shown(0, "theirs", "ours"), shown(0), shown(1))
		}, 0},
		"both were there since we looked last": {func(s *script) {
			s.sent("ours")
			see(s, shown(3), shown(1, "theirs", "ours"))
		}, 100*time.Millisecond + pause},
		"an entry of ours comes late": {func(s *script) {
			s.sent("ours")
			s.sent("ours too")
			see(s, shown(2), shown(1, "ours"))
		}, 0},
		"a pod of the name of one that we evicted long ago is theirs": {func(s *script) {
			s.sent("ours")
			see(s, shown(1), shown(0, "ours"), shown(0), shown(1, "ours"))
		}, 300*time.Millisecond + pause},
		"a refusal holds us until we see why": {func(s *script) {
			s.sent("ours")
			see(s, shown(1))
			s.lost("ours", s.now, pause)
		}, 100*time.Millisecond + pause},
		"a refusal for another reason than a rival costs nothing once we see it": {func(s *script) {
			s.sent("ours")
			see(s, shown(1))
			s.lost("ours", s.now, pause)
			see(s, shown(0), shown(1))
		}, 0},
		"somebody else evicts the pod that we were refused": {func(s *script) {
			s.sent("ours")
			s.lost("ours", s.now, pause)
			see(s, shown(1, "ours"))
		}, pause},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &script{contenders{}.of(shown(0)), noon}
			tc.events(s)
			got := time.Duration(0)
			if !s.until.IsZero() {
				got = s.until.Sub(noon)
			}
			if got != tc.after {
				t.Errorf("our turn is %s after noon, want %s", got, tc.after)
			}
		})
	}
}

func TestLag(t *testing.T) {
	cases := map[string]struct {
		took []time.Duration
		want lag
	}{
		"it is a guess at first":        {nil, lagFirst},
		"it follows what is measured":   {[]time.Duration{250 * time.Millisecond, 500 * time.Millisecond}, lag(284375 * time.Microsecond)},
		"it never becomes nothing":      {make([]time.Duration, 100), lagLeast},
		"one that hangs is not for all": {[]time.Duration{time.Minute}, lagMost},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := lagFirst
			for _, took := range tc.took {
				l = l.after(took)
			}
			if l != tc.want {
				t.Errorf("got %s, want %s", time.Duration(l), time.Duration(tc.want))
			}
		})
	}
	if least, most := lagFirst.pause(0), lagFirst.pause(1); least != 300*time.Millisecond || most != 700*time.Millisecond {
		t.Errorf("a pause is between %s and %s", least, most)
	}
}

// TestBudgetQueueLeavesABudgetToOthers shows that what comes of a rivalry holds for all Drains of the process.
func TestBudgetQueueLeavesABudgetToOthers(t *testing.T) {
	c := testingclock.NewFakeClock(noon)
	l := newBudgetQueue(c)
	l.random = func() float64 { return 0.5 }
	b := shown(1, "theirs")
	l.observe(b)
	until, busy := l.busy(b, watchstore.NewSignal())
	if want := noon.Add(lagFirst.pause(0.5)); !busy || !until.Equal(want) {
		t.Fatalf("left to others: %t until %s, want until %s", busy, until, want)
	}
	if l.reserve(b, "a", watchstore.NewSignal()) {
		t.Fatal("it was taken nevertheless")
	}
	c.SetTime(until)
	if !l.reserve(b, "a", watchstore.NewSignal()) {
		t.Fatal("our turn has come, but it cannot be taken")
	}
	c.Step(10 * time.Millisecond)
	l.observe(shown(1, "theirs", "a"))
	l.settle(b.UID, true)
	if !l.reserve(b, "b", watchstore.NewSignal()) {
		t.Error("we were there last, but have to wait")
	}
	if want := lag(152500 * time.Microsecond); l.lag != want {
		t.Errorf("the lag is %s, want %s", time.Duration(l.lag), time.Duration(want))
	}
	l.refused(b, "b")
	l.settle(b.UID, false)
	if _, busy := l.busy(b, watchstore.NewSignal()); !busy || l.lag != lag(190625*time.Microsecond) {
		t.Errorf("after a refusal: left to others %t, lag %s", busy, time.Duration(l.lag))
	}
	if l.forget(b.Namespace); len(l.by) != 0 {
		t.Error("what nobody watches is remembered")
	}
}

// TestBudgetQueueFeelsItsWay shows how a process begins, while it cannot know yet who else evicts.
func TestBudgetQueueFeelsItsWay(t *testing.T) {
	budgets := map[string]*budget{}
	named := func(pods ...string) {
		for _, name := range []string{"a", "b", "c", "d"} {
			b := shown(1, pods...)
			b.Name, b.UID = name, types.UID(name)
			budgets[name] = b
		}
	}
	cases := map[string]struct {
		events func(l *budgetQueue, c *testingclock.FakeClock)
		free   string // of the budgets, which could be taken by now
	}{
		"one budget is tried first": {func(l *budgetQueue, _ *testingclock.FakeClock) {
			l.reserve(budgets["a"], "p", watchstore.NewSignal())
		}, ""},
		"when its eviction is entered, one more": {func(l *budgetQueue, _ *testingclock.FakeClock) {
			l.reserve(budgets["a"], "p", watchstore.NewSignal())
			l.settle("a", true)
			named("p")
			l.observe(budgets["a"])
			l.reserve(budgets["b"], "q", watchstore.NewSignal())
		}, "acd"},
		"and no more than that": {func(l *budgetQueue, _ *testingclock.FakeClock) {
			l.reserve(budgets["a"], "p", watchstore.NewSignal())
			l.settle("a", true)
			named("p")
			l.observe(budgets["a"])
			l.reserve(budgets["b"], "q", watchstore.NewSignal())
			l.reserve(budgets["c"], "r", watchstore.NewSignal())
		}, "a"},
		"one that the server refused teaches nothing": {func(l *budgetQueue, _ *testingclock.FakeClock) {
			l.reserve(budgets["a"], "p", watchstore.NewSignal())
			l.refused(budgets["a"], "p")
			l.settle("a", false)
			l.reserve(budgets["b"], "q", watchstore.NewSignal())
		}, ""},
		"one that is never entered holds nobody for ever": {func(l *budgetQueue, c *testingclock.FakeClock) {
			l.reserve(budgets["a"], "p", watchstore.NewSignal())
			l.settle("a", true)
			c.Step(staleFor)
		}, "abcd"},
		"one that is not answered does not hold up the others for long": {func(l *budgetQueue, c *testingclock.FakeClock) {
			l.reserve(budgets["a"], "p", watchstore.NewSignal())
			c.Step(time.Duration(lagMost))
		}, "bcd"},
		"who has met a rival draws for the others too": {func(l *budgetQueue, _ *testingclock.FakeClock) {
			l.observe(budgets["a"])
			named("theirs")
			l.observe(budgets["a"])
		}, ""},
		"and has a turn": {func(l *budgetQueue, c *testingclock.FakeClock) {
			named("theirs")
			l.observe(budgets["a"])
			l.busy(budgets["b"], watchstore.NewSignal())
			c.Step(time.Duration(lagFirst) * 10)
		}, "ab"},
		"the next drain begins anew": {func(l *budgetQueue, _ *testingclock.FakeClock) {
			named("theirs")
			l.observe(budgets["a"])
			l.refused(budgets["a"], "p")
			l.forget(budgets["a"].Namespace)
			l.reserve(budgets["a"], "p", watchstore.NewSignal())
		}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := testingclock.NewFakeClock(noon)
			l := newBudgetQueue(c)
			named()
			tc.events(l, c)
			got := ""
			for _, name := range slices.Sorted(maps.Keys(budgets)) {
				if _, busy := l.busy(budgets[name], watchstore.NewSignal()); !busy {
					got += name
				}
			}
			if got != tc.free {
				t.Errorf("free: %q, want %q", got, tc.free)
			}
			if l.reach < 1 || l.lag > lagMost {
				t.Errorf("reach %d, lag %s", l.reach, time.Duration(l.lag))
			}
		})
	}
}

func TestBudgetQueueWakesThoseWhoMayNotTryYet(t *testing.T) {
	for name, changed := range map[string]bool{"the eviction is over": false, "the watch has not shown it yet": true} {
		t.Run(name, func(t *testing.T) {
			l := newBudgetQueue(testingclock.NewFakeClock(noon))
			first, second := newPDB("a"), newPDB("b")
			l.reserve(first, "p", watchstore.NewSignal())
			waiting := watchstore.NewSignal()
			if l.reserve(second, "q", waiting) {
				t.Fatal("a second budget is tried at once")
			}
			l.settle(first.UID, changed)
			select {
			case <-waiting:
			default:
				t.Error("not woken")
			}
		})
	}
}
