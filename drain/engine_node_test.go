// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/slipway-k8s/slipway/drain"
)

func TestNothingIsEvictedFromANodeThatIsNotCordoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := func(n *corev1.Node) { n.Spec.Unschedulable, n.Spec.Taints = false, nil }
		s := newFakeServer(t, fakeNode(open), fakePod("a"))
		d := startDrain(t, s)
		pass(time.Minute)
		d.wantReasons(drain.NodeNotCordoned)
		if n := len(s.evictions()); n != 0 {
			t.Errorf("asked %d times", n)
		}
		s.put(fakeNode(func(n *corev1.Node) { n.Spec.Taints = nil }))
		pass(2 * latency)
		d.wantReasons(drain.NodeTaintMissing)
		if n := len(s.evictions()); n != 1 {
			t.Errorf("the node is unschedulable, asked %d times", n)
		}
		d.wantRunning()
		s.put(fakeNode())
		if err := d.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestANodeThatIsGoneIsDrainedOnceItsPodsAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t, fakePod("a"))
		d := startDrain(t, s)
		d.wantReasons(drain.NodeGone)
		s.remove("a")
		if err := d.end(); err != nil {
			t.Error(err)
		}
		if n := len(s.evictions()); n != 0 {
			t.Errorf("asked %d times", n)
		}
	})
}

func TestTheLastLookCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t, fakeNode())
		lists := 0
		s.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			switch lists++; lists {
			case 1: // that of the watch
				return true, &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
			case 2:
				return true, nil, apierrors.NewServiceUnavailable("not now")
			case 3:
				return true, &corev1.PodList{Items: []corev1.Pod{*fakePod("late")}}, nil
			default:
				return true, &corev1.PodList{Items: []corev1.Pod{*fakePod("stays", func(p *corev1.Pod) {
					p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
				})}}, nil
			}
		})
		d := startDrain(t, s)
		d.wantRunning()
		d.wantReasons(drain.APIServerUnavailable)
		if err := d.end(); err != nil {
			t.Error(err)
		}
		if lists != 4 {
			t.Errorf("looked %d times", lists-1)
		}
	})
}

func TestWhatCannotBeReadIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t, fakeNode(), fakePod("a"))
		var refuse atomic.Bool
		refuse.Store(true)
		s.PrependReactor("list", "poddisruptionbudgets", func(clienttesting.Action) (bool, runtime.Object, error) {
			if refuse.Load() {
				return true, nil, apierrors.NewForbidden(policyv1.Resource("poddisruptionbudgets"), "", errors.New("RBAC"))
			}
			return false, nil, nil
		})
		d := startDrain(t, s)
		pass(time.Minute)
		d.wantReasons(drain.ReadRefused)
		if by := d.status().Blockers[0].By; by != "budgets of namespace default" {
			t.Errorf("by %q", by)
		}
		if n := len(s.evictions()); n != 0 {
			t.Errorf("asked %d times without knowing the budgets", n)
		}
		refuse.Store(false)
		if err := d.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestAPodThatShouldHaveEndedIsReportedWhenItsTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t, fakeNode(), fakePod("a", func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: time.Now().Add(30 * time.Second)}, []string{"acme.io/hold"}
		}))
		d := startDrain(t, s)
		pass(39 * time.Second)
		d.wantReasons()
		pass(2 * time.Second)
		d.wantReasons(drain.Terminating)
		if b := d.status().Blockers[0]; b.By != "acme.io/hold" {
			t.Errorf("by %q", b.By)
		}
		s.remove("a")
		if err := d.end(); err != nil {
			t.Error(err)
		}
		if n := len(s.evictions()); n != 0 {
			t.Errorf("a terminating pod was evicted %d times", n)
		}
	})
}

func TestANodeThatNeverWasIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := startDrain(t, newFakeServer(t))
		if err := d.end(); err == nil || !strings.Contains(err.Error(), `no node "w1"`) {
			t.Errorf("got %v, want an error that names the node", err)
		}
	})
}

func TestANodeThatNeverWasIsAnErrorForADrainThatHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := startDrain(t, newFakeServer(t), func(_ *drain.Config, r *drain.Request) { r.Hold = true })
		if err := d.end(); err == nil || !strings.Contains(err.Error(), `no node "w1"`) {
			t.Errorf("got %v, want an error that names the node", err)
		}
		if d.status().Reached {
			t.Error("it was told that its targets are reached")
		}
	})
}

func TestADrainThatHoldsOutlivesItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t, fakeNode())
		d := startDrain(t, s, func(_ *drain.Config, r *drain.Request) { r.Hold = true })
		if err := s.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("nodes"), "", "w1"); err != nil {
			t.Fatal(err)
		}
		pass(time.Hour)
		d.wantRunning()
		if !d.status().Reached {
			t.Errorf("got %+v", d.status())
		}
		d.cancel(errors.New("enough"))
		_ = d.end()
	})
}
