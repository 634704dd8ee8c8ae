// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/test/auditcheck"
)

// The tests of this file disturb the whole cluster or look at the whole process, so they do not run beside others.

func TestTheAPIServerMayGoAwayInTheMiddle(t *testing.T) {
	s := newScene(t, 1)
	node := s.nodes[0]
	for _, name := range []string{"a", "b", "c"} {
		s.pod(node, name, endsAfter(2))
	}
	s.budget("web", "web", 2, 3)
	s.cordon(node)

	evicted := make(chan types.NamespacedName, 3)
	w := s.drain(s.drainer(node, func(c *drain.Config) {
		c.OnEvicted = func(pod types.NamespacedName) { evicted <- pod }
	}), node)
	<-evicted
	s.component(t, "stop", "kube-apiserver")
	defer s.component(t, "start", "kube-apiserver") // harmless if it runs
	w.await("the API server is away", func(st drain.Status) bool {
		return len(st.Blockers) > 0 && st.Blockers[0].Reason == drain.APIServerUnavailable
	})
	s.component(t, "start", "kube-apiserver")
	// The budget still wants two healthy pods, and nobody replaces the one that has gone. That nothing will help is known
	// only once the controller has counted, so either reason will do.
	w.await("the drain sees again", func(st drain.Status) bool {
		return st.Done == 1 && len(st.Blockers) == 2 && !slices.ContainsFunc(st.Blockers, func(b drain.Blocker) bool {
			return b.Reason != drain.BudgetExhausted && b.Reason != drain.BudgetImpossible
		})
	})
	s.patchBudget("web", `{"spec":{"minAvailable":0}}`)
	w.wantDrained(node, 3)
	s.wantEvictions(map[int]int{201: 3})
}

// The namespace controller would remove the pods at once, so it has to be away for a while.
func TestATerminatingNamespaceTakesNoEvictions(t *testing.T) {
	s := newScene(t, 1)
	node := s.nodes[0]
	s.pod(node, "a")
	s.cordon(node)
	await(s, s.admin.CoreV1().Nodes(), &corev1.Node{}, node, "tainted", func(n *corev1.Node) bool { return len(n.Spec.Taints) == 1 })
	s.component(t, "stop", "kube-controller-manager")
	defer s.component(t, "start", "kube-controller-manager")
	s.must(s.admin.CoreV1().Namespaces().Delete(s.ctx, s.namespace, metav1.DeleteOptions{}))

	w := s.drain(s.drainer(node), node)
	w.awaitBlocker("a", drain.NamespaceTerminating, s.namespace)
	s.wantEvictions(map[int]int{403: 1})
	s.component(t, "start", "kube-controller-manager")
	w.wantDrained(node, 1)
	s.wantEvictions(map[int]int{403: 1})
}

// The controller of budgets would take notice at once, so it has to be away for a while.
func TestABudgetThatIsNotObservedYetIsWaitedFor(t *testing.T) {
	s := newScene(t, 1)
	node := s.nodes[0]
	s.pod(node, "a")
	s.budget("web", "web", 1, 1)
	s.cordon(node)
	await(s, s.admin.CoreV1().Nodes(), &corev1.Node{}, node, "tainted", func(n *corev1.Node) bool { return len(n.Spec.Taints) == 1 })
	s.component(t, "stop", "kube-controller-manager")
	defer s.component(t, "start", "kube-controller-manager")
	s.patchBudget("web", `{"spec":{"minAvailable":0}}`)

	w := s.drain(s.drainer(node), node)
	w.awaitBlocker("a", drain.BudgetNotObserved, "web")
	s.wantEvictions(map[int]int{})
	s.component(t, "start", "kube-controller-manager")
	w.wantDrained(node, 1)
	s.wantEvictions(map[int]int{201: 1})
}

func TestCancelLeavesNothingBehind(t *testing.T) {
	s := newScene(t, 1)
	node := s.nodes[0]
	for _, name := range []string{"a", "b", "c", "d"} {
		s.pod(node, name)
	}
	s.budget("web", "web", 0, 4)
	s.cordon(node)

	why := errors.New("the event was deleted")
	ctx, cancel := context.WithCancelCause(s.ctx)
	before := goleak.IgnoreCurrent()
	d := s.drainer(node, func(c *drain.Config) {
		c.OnEvicted = func(types.NamespacedName) { cancel(why) }
	})
	s.drains(node, auditcheck.Parameters{})
	if err := d.Drain(ctx, drain.Request{NodeName: node}, nil); !errors.Is(err, why) {
		t.Errorf("got %v, want the cause", err)
	}
	// The client keeps its connection to the server, which is not the drain's to close.
	goleak.VerifyNone(t, before,
		goleak.IgnoreAnyFunction("net/http.(*http2ClientConn).readLoop"),
		goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*ClientConn).readLoop"))
	s.wantEvictions(map[int]int{201: 1})
	left := 0
	for _, name := range []string{"a", "b", "c", "d"} {
		if p := s.getPod(name); p != nil && p.DeletionTimestamp == nil {
			left++
		}
	}
	if left != 3 {
		t.Errorf("%d pods are untouched, want 3", left)
	}

	// A second call goes on where the first one was.
	s.drain(s.drainer(node), node).wantDrainedAtLeast(node, 3)
	s.wantEvictions(map[int]int{201: 4})
}

// wantDrainedAtLeast allows for a pod that may or may not have been gone when the Drain began.
func (w *walk) wantDrainedAtLeast(node string, pods int) {
	w.s.t.Helper()
	w.s.must(w.end())
	status, _ := w.status()
	w.wantDrained(node, max(pods, status.Total))
}
