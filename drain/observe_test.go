// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestABudgetIsOpenFromWhenItAllowsADisruptionUntilOneIsUsed(t *testing.T) {
	version := func(v string, allowed int32) *budget {
		return newBudget(&policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{UID: "b", ResourceVersion: v},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
		})
	}
	o := openings{}
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	see := func(seconds int, b *budget) { o.saw(map[string][]*budget{"shop": {b}}, at(seconds)) }
	use := func(seconds int, wantOpen time.Duration, wantWas bool) {
		t.Helper()
		if open, was := o.use(version("", 0), at(seconds)); open != wantOpen || was != wantWas {
			t.Errorf("after %d s: open for %s, %v; want %s, %v", seconds, open, was, wantOpen, wantWas)
		}
	}
	see(0, version("1", 0))
	use(1, 0, false) // a pod that is not healthy may leave all the same
	see(2, version("2", 2))
	see(3, version("3", 1))
	use(5, 3*time.Second, true)
	see(6, version("3", 1)) // what is seen does not show the eviction yet
	use(7, 0, false)
	see(8, version("4", 1))
	use(9, time.Second, true)
	see(10, version("5", 0))
	see(11, version("6", 1))
	use(11, 0, true)
}

// told is what an observer was told.
type told struct {
	evicted int
	refused []string
	after   []time.Duration
}

func (o *told) Evicted() { o.evicted++ }

func (o *told) Refused(reason string) { o.refused = append(o.refused, reason) }

func (o *told) EvictedAfter(open time.Duration) { o.after = append(o.after, open) }

func TestAnObserverIsToldWhatBecomesOfEvictions(t *testing.T) {
	observer := &told{}
	r := newRun(&Drainer{config: Config{Observer: observer}}, Request{NodeName: "n"})
	b := newBudget(&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{UID: "b", ResourceVersion: "1"}, Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1},
	})
	r.opened.saw(map[string][]*budget{"": {b}}, noon)
	pod := newPod("a")
	for _, a := range []answered{
		{answer: answer{outcome: budgetRefused, refusal: &obstacle{reason: BudgetExhausted}}, pod: pod, by: byEviction, budget: b},
		{answer: answer{outcome: accepted}, pod: pod, by: byEviction, budget: b},
		{answer: answer{outcome: accepted}, pod: pod, by: byEviction},
		{answer: answer{outcome: accepted}, pod: pod, by: byDeletion},
		{answer: answer{outcome: vanished}, pod: pod, by: byEviction},
	} {
		r.observe(a, noon.Add(time.Second))
	}
	if observer.evicted != 2 || len(observer.refused) != 1 || observer.refused[0] != "BudgetExhausted" ||
		len(observer.after) != 1 || observer.after[0] != time.Second {
		t.Errorf("told was %+v", observer)
	}
}

// Of a budget that is not looked at for a while, nobody knows whether it was open all the time.
func TestAnOpeningThatIsNotLookedAtIsForgotten(t *testing.T) {
	o, of := openings{}, map[string][]*budget{"default": {newPDB("web", func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = 1 })}}
	o.saw(of, noon)
	if open, was := o.use(of["default"][0], noon.Add(time.Second)); !was || open != time.Second {
		t.Errorf("it was open: %t, for %s", was, open)
	}
	o = openings{}
	o.saw(of, noon)
	o.saw(nil, noon)
	o.saw(of, noon.Add(time.Hour))
	if open, was := o.use(of["default"][0], noon.Add(time.Hour)); !was || open != 0 {
		t.Errorf("it was open: %t, for %s", was, open)
	}
}
