// SPDX-License-Identifier: Apache-2.0

package walk

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// Why the audit log may end with a cordon of ours.
const (
	notReturned  = "a node that was drained stays cordoned until it is returned, which is not part of this test"
	drainedAgain = "at the end the node is drained once more, and stays cordoned until it is returned"
)

func quick() harness.PodOptions { return harness.PodOptions{Gone: time.Second} }

// drained waits for the event's end and checks that it succeeded and left nothing.
func drained(t *testing.T, env *harness.Env, h *harness.History, event string) {
	t.Helper()
	h.Await(event + " gone")
	want := []string{"Pending", "Claimed", "Succeeded", "gone"}
	if diff := cmp.Diff(want, h.States(event)); diff != "" {
		t.Errorf("phases of %s (-want +got):\n%s", event, diff)
	}
}

func TestANodeIsDrainedAndReturned(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "drained-and-returned")
	env.Deployment(t, "web", "drained-and-returned", 5, quick())
	h := node.Record()
	node.Agent("")

	node.Event(node.EventName("drain"), harness.Drain)
	drained(t, env, h, node.EventName("drain"))
	node.AwaitPodsGone(client.MatchingLabels{"app": "web"})
	node.Await("is cordoned", func(n *corev1.Node) bool { return n.Spec.Unschedulable })

	node.Event(node.EventName("uncordon"), harness.Return)
	drained(t, env, h, node.EventName("uncordon"))
	node.Await("is schedulable", func(n *corev1.Node) bool { return !n.Spec.Unschedulable && len(n.Spec.Taints) == 0 })

	want := []string{"drain-started", "drain-complete", "uncordoning", "maintenance-complete"}
	if diff := cmp.Diff(want, h.States("node")); diff != "" {
		t.Errorf("reasons of the Node's condition (-want +got):\n%s", diff)
	}
}

func TestASecondDrainDrainsAgain(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "second-drain")
	node.Expect(harness.CordonLeft, notReturned)
	h := node.Record()
	node.Agent("")

	for range 2 {
		pod := node.Pod("again", quick())
		name := node.EventName("drain-" + pod.Name[len(pod.Name)-5:])
		node.Event(name, harness.Drain)
		drained(t, env, h, name)
		node.AwaitPodsGone(client.MatchingLabels{"app": "again"})
	}
	want := []string{"drain-started", "drain-complete", "drain-started", "drain-complete"}
	if diff := cmp.Diff(want, h.States("node")); diff != "" {
		t.Errorf("reasons of the Node's condition (-want +got):\n%s", diff)
	}
}

func TestAPodThatEndsSlowlyIsCountedUntilItHasGone(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "slow-end")
	node.Expect(harness.CordonLeft, notReturned)
	pod := node.Pod("slow", harness.PodOptions{Gone: 20 * time.Second})
	h := node.Record()
	node.Agent("")

	node.Event(node.EventName("drain"), harness.Drain)
	env.AwaitEvent(t, node.EventName("drain"), "counts the pod", func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		return e.Status.Progress != nil && e.Status.Progress.Summary == "0/1"
	})
	node.AwaitPodsGone(client.MatchingLabels{"app": "slow"})
	h.Await(node.EventName("drain") + " Succeeded")
	drained(t, env, h, node.EventName("drain"))
	_ = pod
}

func TestAPodThatIsBoundLateIsDrainedToo(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "late")
	node.Expect(harness.CordonLeft, notReturned)
	node.Pod("early", harness.PodOptions{Gone: 5 * time.Second})
	h := node.Record()
	node.Agent("")

	node.Event(node.EventName("drain"), harness.Drain)
	h.Await("node drain-started")
	node.Await("is cordoned", func(n *corev1.Node) bool { return n.Spec.Unschedulable })
	node.Pod("late", quick())
	drained(t, env, h, node.EventName("drain"))
	node.AwaitPodsGone(client.MatchingLabels{"app": "early"})
	node.AwaitPodsGone(client.MatchingLabels{"app": "late"})
}
