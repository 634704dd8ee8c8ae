// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/slipway-k8s/slipway/drain/watchstore"
)

// triedBy is what probing has to say, by looking at all slots.
func triedBy(l *budgetQueue, now time.Time) (n int, next time.Time) {
	for _, s := range l.reserved {
		if until := s.taken.Add(time.Duration(lagMost)); s.probes && now.Before(until) {
			n++
			next = earlier(next, until)
		}
	}
	return n, next
}

// pauseBy is what pause has to say, by looking at all slots.
func pauseBy(l *budgetQueue, now time.Time) time.Duration {
	most := l.lag
	for _, s := range l.reserved {
		if !s.seen && !s.expired(now) {
			most = max(most, lag(now.Sub(s.taken)))
		}
	}
	return min(most, lagMost).pause(l.random())
}

// TestBudgetQueueCountsWhatItHolds: whatever happens to a thousand evictions, the two numbers
// that are kept are those that a look at all slots would give, and no more is kept than
// there is.
func TestBudgetQueueCountsWhatItHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := testingclock.NewFakeClock(noon)
		l := newBudgetQueue(c)
		l.random = func() float64 { return 0.5 }
		l.reach = rapid.IntRange(1, 8).Draw(t, "reach")
		budgets := make([]*budget, 8)
		for i := range budgets {
			budgets[i] = newPDB(fmt.Sprintf("b%d", i))
			budgets[i].UID = types.UID(budgets[i].Name)
			budgets[i].Namespace = fmt.Sprintf("n%d", i%2)
		}
		for i := range rapid.IntRange(10, 300).Draw(t, "length") {
			b := rapid.SampledFrom(budgets).Draw(t, "budget")
			s, pod := l.reserved[b.UID], fmt.Sprintf("p%d", i)
			switch rapid.IntRange(0, 6).Draw(t, "what") {
			case 0, 1:
				l.reserve(b, pod, watchstore.NewSignal())
			case 2:
				if s != nil && s.inFlight {
					if rapid.Bool().Draw(t, "refused") {
						l.refused(b, s.pod)
					}
					l.settle(b.UID, !s.lost && rapid.Bool().Draw(t, "changed"))
				}
			case 3:
				if s != nil {
					pod = s.pod
				}
				shown := newPDB(b.Name, evicting(pod, c.Now()))
				shown.UID, shown.Namespace = b.UID, b.Namespace
				l.observe(shown)
			case 4:
				l.forget(b.Namespace)
			default:
				c.Step(time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "clock")))
			}
			n, next := l.probing(c.Now())
			if wantN, wantNext := triedBy(l, c.Now()); n != wantN || !next.Equal(wantNext) {
				t.Fatalf("%d are tried, until %s; want %d, until %s", n, next, wantN, wantNext)
			}
			if got, want := l.pause(c.Now()), pauseBy(l, c.Now()); got != want {
				t.Fatalf("a pause is %s; want %s", got, want)
			}
			if most := 2*len(budgets) + agesKept + 1; len(l.tried.all) > most || len(l.sent.all) > most {
				t.Fatalf("%d and %d slots are kept, of %d budgets", len(l.tried.all), len(l.sent.all), len(budgets))
			}
		}
	})
}

// BenchmarkBudgetQueueBusy is what each drain asks for each budget in each pass, while other
// drains have as many evictions under way.
func BenchmarkBudgetQueueBusy(b *testing.B) {
	for _, others := range []int{10, 100, 1_000} {
		b.Run(fmt.Sprint(others), func(b *testing.B) {
			l := newBudgetQueue(testingclock.NewFakeClock(noon))
			l.reach = others
			for i := range others {
				taken := newPDB(fmt.Sprint(i))
				taken.UID = types.UID(taken.Name)
				l.reserve(taken, "p", watchstore.NewSignal())
			}
			free, wake := newPDB("free"), watchstore.NewSignal()
			for b.Loop() {
				l.busy(free, wake)
			}
		})
	}
}
