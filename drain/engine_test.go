// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"errors"
	"net/url"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/slipway-k8s/slipway/drain"
)

func TestEvictionNamesTheUIDAndTheGracePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t, fakeNode(), fakePod("a"))
		var evicted []types.NamespacedName
		d := startDrain(t, s, func(c *drain.Config, r *drain.Request) {
			r.GracePeriodSeconds = ptr.To[int64](7)
			c.OnEvicted = func(pod types.NamespacedName) { evicted = append(evicted, pod) }
		})
		if err := d.end(); err != nil {
			t.Fatal(err)
		}
		o := s.evictions()[0].eviction.DeleteOptions
		if *o.Preconditions.UID != "uid-a" || *o.GracePeriodSeconds != 7 {
			t.Errorf("got UID %v and grace period %v", *o.Preconditions.UID, *o.GracePeriodSeconds)
		}
		if want := []types.NamespacedName{{Namespace: "default", Name: "a"}}; !slices.Equal(evicted, want) {
			t.Errorf("OnEvicted was told %v", evicted)
		}
		last := d.status()
		if last.Total != 1 || last.Done != 1 || len(last.Blockers) != 0 || last.Message != "drained: 1 of 1 pods gone" {
			t.Errorf("the last status is %+v", last)
		}
	})
}

func TestRefusedByAWebhookBacksOffAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t, fakeNode(), fakePod("a"))
		s.answerWith(func(*policyv1.Eviction) error {
			return apierrors.NewForbidden(corev1.Resource("pods"), "a", errors.New("webhook says no"))
		})
		d := startDrain(t, s)
		d.wantReasons(drain.EvictionRefused)
		before, reports := d.status(), d.reports
		pass(10 * time.Minute)
		d.wantRunning()
		if after := d.status(); !slices.Equal(after.Blockers, before.Blockers) || d.reports != reports {
			t.Errorf("nothing has changed, but %d reports came, and the status is %+v, was %+v", d.reports-reports, after, before)
		}
		asked := s.evictions()
		if n := len(asked); n < 20 || n > 45 { // five while it grows, then one every 15 to 30 s
			t.Errorf("asked %d times in ten minutes", n)
		}
		for i, next := range asked[1:] {
			if gap := next.at.Sub(asked[i].at); gap < 500*time.Millisecond || gap > 31*time.Second {
				t.Errorf("asked again after %s", gap)
			}
		}
		s.answerWith(nil)
		if err := d.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestOneRefusedPodDoesNotHoldUpOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t, fakeNode(), fakePod("a"), fakePod("b"), fakePod("c"))
		s.answerWith(func(e *policyv1.Eviction) error {
			if e.Name == "a" {
				return apierrors.NewInternalError(errors.New("failed calling webhook"))
			}
			return nil
		})
		d := startDrain(t, s)
		pass(2 * latency)
		if got := d.status(); got.Done != 2 || got.Total != 3 {
			t.Errorf("got %d of %d", got.Done, got.Total)
		}
		d.cancel(errors.New("enough"))
		_ = d.end()
	})
}

func TestOverloadPausesAllAndHonoursRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t, fakeNode(), fakePod("a"))
		s.answerWith(func(*policyv1.Eviction) error { return apierrors.NewTooManyRequests("slow down", 20) })
		d := startDrain(t, s)
		d.wantReasons(drain.APIServerOverloaded)
		s.answerWith(nil)
		s.put(fakePod("b")) // an event must not end the pause
		pass(19 * time.Second)
		if n := len(s.evictions()); n != 1 {
			t.Errorf("asked %d times within the pause", n)
		}
		if err := d.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestAnAPIServerThatIsAwayIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t, fakeNode(), fakePod("a"))
		s.answerWith(func(*policyv1.Eviction) error { return &url.Error{Op: "Post", URL: "/", Err: syscall.ECONNREFUSED} })
		d := startDrain(t, s)
		pass(5 * time.Minute)
		d.wantRunning()
		d.wantReasons(drain.APIServerUnavailable)
		before := time.Now()
		s.answerWith(nil)
		if err := d.end(); err != nil {
			t.Error(err)
		}
		if took := time.Since(before); took > 10*time.Second {
			t.Errorf("it took %s to notice that the server is back", took)
		}
	})
}

func TestATerminatingNamespaceIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t, fakeNode(), fakePod("a"))
		s.answerWith(func(*policyv1.Eviction) error {
			err := apierrors.NewForbidden(corev1.Resource("pods"), "a", errors.New("namespace is being terminated"))
			err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
			return err
		})
		d := startDrain(t, s)
		pass(5 * time.Minute)
		d.wantReasons(drain.NamespaceTerminating)
		if n := len(s.evictions()); n > 11 {
			t.Errorf("asked %d times in five minutes", n)
		}
		s.remove("a")
		if err := d.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestARefusalThatTheBudgetDoesNotExplainIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := fakeBudget("web", 1)
		s := newFakeServer(t, fakeNode(), fakePod("a"), budget)
		s.answerWith(func(*policyv1.Eviction) error {
			err := apierrors.NewTooManyRequests("no", 10)
			err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: "being processed"}}
			return err
		})
		d := startDrain(t, s)
		pass(29 * time.Second)
		d.wantReasons(drain.BudgetExhausted)
		if n := len(s.evictions()); n != 1 {
			t.Errorf("asked %d times although nothing has changed", n)
		}
		s.answerWith(nil)
		budget.ResourceVersion = "2"
		if err := s.Tracker().Update(policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"), budget, "default"); err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		if err := d.end(); err != nil {
			t.Error(err)
		}
		if took := time.Since(before); took > time.Second {
			t.Errorf("the budget changed, but the drain took %s to go on", took)
		}
	})
}

func TestNothingIsAskedWhileTheBudgetRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := fakeBudget("web", 0)
		s := newFakeServer(t, fakeNode(), fakePod("a"), budget)
		d := startDrain(t, s)
		pass(time.Hour / 2)
		d.wantReasons(drain.BudgetExhausted)
		if n := len(s.evictions()); n != 0 {
			t.Errorf("asked %d times", n)
		}
		d.cancel(errors.New("enough"))
		_ = d.end()
	})
}

func TestAnotherPodOfTheSameNameIsNotTouched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t, fakeNode(), fakePod("a"))
		s.answerWith(func(*policyv1.Eviction) error {
			return apierrors.NewConflict(corev1.Resource("pods"), "a", errors.New("the UID does not match"))
		})
		d := startDrain(t, s)
		pass(2 * latency)
		d.wantReasons()
		s.remove("a")
		s.put(fakePod("a", func(p *corev1.Pod) { p.UID, p.Spec.NodeName = "another", "w2" }))
		if err := d.end(); err != nil {
			t.Error(err)
		}
		for _, a := range s.evictions() {
			if *a.eviction.DeleteOptions.Preconditions.UID != "uid-a" {
				t.Errorf("asked to evict %s", *a.eviction.DeleteOptions.Preconditions.UID)
			}
		}
	})
}

func TestCancelEndsEvictionsAndWaitsForTheOneOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t, fakeNode(), fakePod("a"), fakePod("b"), fakeBudget("web", 2))
		answer := make(chan struct{})
		s.answerWith(func(*policyv1.Eviction) error { <-answer; return nil })
		evicted := 0
		d := startDrain(t, s, func(c *drain.Config, _ *drain.Request) {
			c.OnEvicted = func(types.NamespacedName) { evicted++ }
		})
		why := errors.New("somebody changed their mind")
		d.cancel(why)
		d.wantRunning()
		close(answer)
		if err := d.end(); !errors.Is(err, why) {
			t.Errorf("got %v, want the cause", err)
		}
		reports := d.reports
		pass(time.Hour)
		if n := len(s.evictions()); n != 1 || evicted != 1 {
			t.Errorf("%d evictions sent, %d told", n, evicted)
		}
		if d.reports != reports {
			t.Error("a status was reported after Drain had returned")
		}
	})
}

func TestDrainsOfOneDrainerShareTheQueueOfABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := fakeNode(func(n *corev1.Node) { n.Name, n.UID = "w2", "node2" })
		on2 := func(p *corev1.Pod) { p.Spec.NodeName = "w2" }
		s := newFakeServer(t, fakeNode(), other, fakeBudget("web", 4), fakePod("a"), fakePod("b"), fakePod("c", on2), fakePod("d", on2))
		inFlight := make(chan struct{}, 1)
		s.answerWith(func(*policyv1.Eviction) error {
			select {
			case inFlight <- struct{}{}:
			default:
				t.Error("two evictions are in flight under one budget")
			}
			<-time.After(time.Second)
			<-inFlight
			return nil
		})
		drainer, err := drain.New(drain.Config{Pods: s.CoreV1(), Budgets: s.PolicyV1()})
		if err != nil {
			t.Fatal(err)
		}
		first := startDrainOf(t, drainer, drain.Request{NodeName: "w1"})
		second := startDrainOf(t, drainer, drain.Request{NodeName: "w2"})
		if err := errors.Join(first.end(), second.end()); err != nil {
			t.Error(err)
		}
		asked := s.evictions()
		for i, next := range asked[1:] {
			// This server does not write evictions into the budget, so after each, which takes a
			// second, the drains wait in vain to see it, for three.
			if gap := next.at.Sub(asked[i].at); gap != 4*time.Second+latency {
				t.Errorf("the next eviction under the budget was sent after %s", gap)
			}
		}
		watches := 0
		for _, a := range s.Actions() {
			if a.Matches("watch", "poddisruptionbudgets") {
				watches++
			}
		}
		if watches != 1 {
			t.Errorf("%d watches of the same budgets", watches)
		}
	})
}

func TestBadInputIsRefused(t *testing.T) {
	s := newFakeServer(t)
	if _, err := drain.New(drain.Config{}); err == nil {
		t.Error("a Config without clients is accepted")
	}
	if _, err := drain.New(drain.Config{Pods: s.CoreV1(), Budgets: s.PolicyV1(), EvictionTimeout: -1}); err == nil {
		t.Error("a negative EvictionTimeout is accepted")
	}
	d, err := drain.New(drain.Config{Pods: s.CoreV1(), Budgets: s.PolicyV1()})
	if err != nil {
		t.Fatal(err)
	}
	for name, request := range map[string]drain.Request{
		"no node":                 {},
		"a negative grace period": {NodeName: "w1", GracePeriodSeconds: ptr.To[int64](-1)},
		"no grace period":         {NodeName: "w1", GracePeriodSeconds: ptr.To[int64](0)},
		"a negative timeout":      {NodeName: "w1", PodTimeout: -1},
		"an unknown type of pod":  {NodeName: "w1", Targets: []drain.Target{{PodType: "Mirror"}}},
	} {
		if err := d.Drain(t.Context(), request, nil); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
