// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	k8stesting "k8s.io/client-go/testing"

	"github.com/slipway-k8s/slipway/drain"
)

// evicting is an EvictPod that runs in the bubble of a test.
type evicting struct {
	t      *testing.T
	cancel context.CancelCauseFunc
	result chan error

	mu   sync.Mutex
	told []drain.PodProgress
}

func startEvicting(t *testing.T, d *drain.Drainer, pod string) *evicting {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	e := &evicting{t: t, cancel: cancel, result: make(chan error, 1)}
	t.Cleanup(func() { cancel(nil) })
	go func() {
		e.result <- d.EvictPod(ctx, types.NamespacedName{Namespace: "default", Name: pod}, types.UID("uid-"+pod), e.tell)
	}()
	return e
}

func (e *evicting) tell(p drain.PodProgress) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.told = append(e.told, p)
}

func (e *evicting) reasons() []drain.Reason {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []drain.Reason
	for _, p := range e.told {
		all = append(all, p.Blocker.Reason)
	}
	return all
}

func (e *evicting) end() error {
	e.t.Helper()
	select {
	case err := <-e.result:
		return err
	case <-time.After(time.Hour):
		e.t.Fatalf("EvictPod does not end; it told %v", e.reasons())
		return nil
	}
}

func (e *evicting) wantRunning() {
	e.t.Helper()
	synctest.Wait()
	select {
	case err := <-e.result:
		e.t.Fatalf("EvictPod has returned: %v", err)
	default:
	}
}

func newDrainer(t *testing.T, s *fakeServer, change ...func(*drain.Config)) *drain.Drainer {
	t.Helper()
	config := drain.Config{Pods: s.CoreV1(), Budgets: s.PolicyV1()}
	for _, c := range change {
		c(&config)
	}
	d, err := drain.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (s *fakeServer) putBudget(b *policyv1.PodDisruptionBudget) {
	if err := s.Tracker().Update(policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"), b, "default"); err != nil {
		s.t.Errorf("put budget: %v", err)
	}
}

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

// failing makes the server refuse a kind of request as long as it is set.
func (s *fakeServer) failing(verb, resource string, err error, concerns func(k8stesting.Action) bool) *atomic.Bool {
	var on atomic.Bool
	on.Store(true)
	s.PrependReactor(verb, resource, func(a k8stesting.Action) (bool, runtime.Object, error) {
		return on.Load() && concerns(a), nil, err
	})
	return &on
}

func TestWhatCannotBeReadIsToldAndTriedAgain(t *testing.T) {
	for resource, want := range map[string]string{
		"pods": "pods of namespace default", "poddisruptionbudgets": "budgets of namespace default",
	} {
		t.Run(resource, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeServer(t, fakePod("a"))
				refuses := s.failing("list", resource, apierrors.NewForbidden(corev1.Resource(resource), "", errors.New("no")),
					func(k8stesting.Action) bool { return true })
				e := startEvicting(t, newDrainer(t, s), "a")
				pass(time.Minute)
				if diff := cmp.Diff([]drain.Reason{drain.ReadRefused}, e.reasons()); diff != "" || len(s.evictions()) > 0 {
					t.Errorf("told (-want +got):\n%s; asked %d times", diff, len(s.evictions()))
				}
				if by := e.told[0].Blocker.By; by != want {
					t.Errorf("it is held up by %q", by)
				}
				refuses.Store(false)
				if err := e.end(); err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff([]drain.Reason{drain.ReadRefused, ""}, e.reasons()); diff != "" {
					t.Errorf("told (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestAPodThatIsNotSeenIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		away := s.failing("list", "pods", &url.Error{Op: "Get", URL: "/", Err: syscall.ECONNREFUSED}, func(a k8stesting.Action) bool {
			list, ok := a.(k8stesting.ListAction)
			return ok && list.GetListRestrictions().Fields.String() == "metadata.name=a"
		})
		e := startEvicting(t, newDrainer(t, s), "a")
		pass(time.Minute)
		e.wantRunning()
		if got := e.reasons(); len(got) == 0 || got[0] != drain.APIServerUnavailable {
			t.Errorf("told %v", got)
		}
		away.Store(false)
		if err := e.end(); err != nil {
			t.Error(err)
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
