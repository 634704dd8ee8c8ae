// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain"
)

func TestAPodIsEvictedWhereverItIsAndNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t, fakePod("a"), fakePod("b"), fakePod("c", func(p *corev1.Pod) { p.Spec.NodeName = "w2" }))
		var evicted []types.NamespacedName
		d := newDrainer(t, s, func(c *drain.Config) {
			c.OnEvicted = func(pod types.NamespacedName) { evicted = append(evicted, pod) }
		})
		a, c := startEvicting(t, d, "a"), startEvicting(t, d, "c")
		if err := errors.Join(a.end(), c.end()); err != nil {
			t.Fatal(err)
		}
		asked := map[string]types.UID{}
		for _, e := range s.evictions() {
			asked[e.eviction.Name] = *e.eviction.DeleteOptions.Preconditions.UID
			if grace := e.eviction.DeleteOptions.GracePeriodSeconds; grace != nil {
				t.Errorf("asked with a grace period of %d", *grace)
			}
		}
		if diff := cmp.Diff(map[string]types.UID{"a": "uid-a", "c": "uid-c"}, asked); diff != "" || len(evicted) != 2 {
			t.Errorf("evictions (-want +got):\n%s; told of %v", diff, evicted)
		}
	})
}

func TestAPodWaitsForItsBudgetWithoutARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := fakeBudget("web", 0)
		s := newFakeServer(t, fakePod("a"), budget)
		e := startEvicting(t, newDrainer(t, s), "a")
		pass(time.Hour)
		e.wantRunning()
		if diff := cmp.Diff([]drain.Reason{drain.BudgetExhausted}, e.reasons()); diff != "" || len(s.evictions()) > 0 {
			t.Errorf("told (-want +got):\n%s; asked %d times", diff, len(s.evictions()))
		}
		if b := e.told[0].Blocker; b.Pod.Name != "a" || b.By != "web" || b.Message == "" {
			t.Errorf("told %+v", b)
		}
		open := fakeBudget("web", 1)
		open.ResourceVersion = "2"
		began := time.Now()
		s.putBudget(open)
		if err := e.end(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("the budget was open for %s before the pod was gone", took)
		}
	})
}

func TestAPodThatIsNotWantedGoneAnyMoreStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t, fakePod("a"), fakePod("b"), fakeBudget("web", 0))
		d := newDrainer(t, s)
		a, b := startEvicting(t, d, "a"), startEvicting(t, d, "b")
		pass(time.Second)
		why := errors.New("withdrawn")
		a.cancel(why)
		if err := a.end(); !errors.Is(err, why) {
			t.Errorf("got %v, want the cause", err)
		}
		open := fakeBudget("web", 2)
		open.ResourceVersion = "2"
		s.putBudget(open)
		if err := b.end(); err != nil {
			t.Error(err)
		}
		pass(time.Minute)
		if asked := s.evictions(); len(asked) != 1 || asked[0].eviction.Name != "b" {
			t.Errorf("asked %+v", asked)
		}
	})
}

func TestAnEvictionThatIsOnItsWayIsWaitedForAndThenCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t, fakePod("a"))
		s.onEvict = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		e := startEvicting(t, newDrainer(t, s), "a")
		pass(time.Second)
		began, why := time.Now(), errors.New("withdrawn")
		e.cancel(why)
		if err := e.end(); !errors.Is(err, why) {
			t.Errorf("got %v, want the cause", err)
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("it was cut off after %s", took)
		}
	})
}

// The loop works on for those whose evictions are on their way, although others have left later.
func TestTheLastToLeaveDoesNotLeaveOthersBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t, fakePod("a"), fakePod("b", func(p *corev1.Pod) { p.Labels = nil }), fakeBudget("web", 0))
		answer := make(chan struct{})
		s.answerWith(func(*policyv1.Eviction) error { <-answer; return nil })
		d := newDrainer(t, s)
		held, flying := startEvicting(t, d, "a"), startEvicting(t, d, "b")
		pass(time.Second)
		flying.cancel(context.Canceled)
		pass(time.Second)
		held.cancel(context.Canceled)
		if err := held.end(); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		flying.wantRunning()
		close(answer)
		if err := flying.end(); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestPodsThatEvictionsAreNotForAreRefused(t *testing.T) {
	ended := func(phase corev1.PodPhase) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.Phase = phase }
	}
	ofDaemonSet := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(
			&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent"}}, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
	}
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   error
	}{
		"a static pod": {func(p *corev1.Pod) {
			p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "hash"}
		}, drain.ErrUnevictable},
		"a pod of a DaemonSet":                  {ofDaemonSet, drain.ErrUnevictable},
		"a pod of a DaemonSet that has ended":   {func(p *corev1.Pod) { ofDaemonSet(p); ended(corev1.PodFailed)(p) }, nil},
		"a pod that has ended":                  {ended(corev1.PodSucceeded), nil},
		"another pod of the same name":          {func(p *corev1.Pod) { p.UID = "another" }, nil},
		"a pod of another name, none with this": {func(p *corev1.Pod) { p.Name, p.UID = "b", "uid-b" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeServer(t, fakePod("a", tc.change))
				if err := startEvicting(t, newDrainer(t, s), "a").end(); !errors.Is(err, tc.want) {
					t.Errorf("got %v, want %v", err, tc.want)
				}
				if n := len(s.evictions()); n > 0 {
					t.Errorf("asked %d times", n)
				}
			})
		})
	}
}

func TestAPodThatIsEndingIsOnlyWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := time.Now().Add(time.Minute)
		s := newFakeServer(t, fakePod("a", func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: until}, []string{"example.test/hold"}
		}))
		e := startEvicting(t, newDrainer(t, s), "a")
		pass(2 * time.Minute)
		e.wantRunning()
		if diff := cmp.Diff([]drain.Reason{"", drain.Terminating}, e.reasons()); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		if !e.told[0].Ends.Equal(until) {
			t.Errorf("told that it ends at %s, want %s", e.told[0].Ends, until)
		}
		s.remove("a")
		if err := e.end(); err != nil {
			t.Error(err)
		}
		if n := len(s.evictions()); n > 0 {
			t.Errorf("asked %d times", n)
		}
	})
}

func TestARefusalByAWebhookIsTriedAgainWithPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t, fakePod("a"), fakePod("b"))
		s.answerWith(func(e *policyv1.Eviction) error {
			if e.Name == "b" {
				return nil
			}
			return apierrors.NewForbidden(corev1.Resource("pods"), "a", errors.New("webhook says no"))
		})
		d := newDrainer(t, s)
		a, b := startEvicting(t, d, "a"), startEvicting(t, d, "b")
		if err := b.end(); err != nil {
			t.Error(err)
		}
		pass(10 * time.Minute)
		if diff := cmp.Diff([]drain.Reason{drain.EvictionRefused}, a.reasons()); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		if n := len(s.evictions()); n < 20 || n > 46 {
			t.Errorf("asked %d times in ten minutes", n)
		}
		s.answerWith(nil)
		if err := a.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestABudgetThatGuardsAPodLaterHoldsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		two := fakeBudget("two", 1)
		s := newFakeServer(t, fakePod("a"), fakeBudget("one", 1), two)
		e := startEvicting(t, newDrainer(t, s), "a")
		pass(time.Minute)
		two = two.DeepCopy()
		two.ResourceVersion, two.Spec.Selector.MatchLabels["app"] = "2", "other"
		s.putBudget(two)
		if err := e.end(); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]drain.Reason{drain.MultipleBudgets, ""}, e.reasons()); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
}

func TestTheTextAloneOfABlockerIsNotToldAtEachChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t, fakePod("a"), fakeBudget("web", 0))
		e := startEvicting(t, newDrainer(t, s), "a")
		pass(time.Second)
		for i := range int32(10) {
			b := fakeBudget("web", 0)
			b.ResourceVersion = fmt.Sprint(i + 2)
			b.Status.CurrentHealthy, b.Status.DesiredHealthy, b.Status.ExpectedPods = i, 15, 20
			s.putBudget(b)
			pass(time.Second)
		}
		if n := len(e.reasons()); n != 1 {
			t.Errorf("told %d times in ten seconds", n)
		}
		pass(3 * time.Minute)
		if n := len(e.reasons()); n != 2 {
			t.Fatalf("told %d times in three minutes", n)
		}
		if got := e.told[1].Blocker.Message; !strings.Contains(got, "9 of 20 pods are healthy and 15 must be") {
			t.Errorf("told %q", got)
		}
	})
}

func TestEvictPodSaysWhatIsWrongWithACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t, fakePod("a"), fakeBudget("web", 0))
		d := newDrainer(t, s)
		if err := d.EvictPod(t.Context(), types.NamespacedName{Namespace: "default", Name: "a"}, "", nil); err == nil {
			t.Error("a pod without a UID is accepted")
		}
		first := startEvicting(t, d, "a")
		pass(time.Second)
		if err := startEvicting(t, d, "a").end(); err == nil {
			t.Error("two calls for one pod go on")
		}
		first.wantRunning()
		first.cancel(nil)
		_ = first.end()
		second := startEvicting(t, d, "a")
		pass(time.Second)
		second.wantRunning()
	})
}
