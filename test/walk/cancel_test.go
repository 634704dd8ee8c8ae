// SPDX-License-Identifier: Apache-2.0

package walk

import (
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/test/harness"
)

// halfDrained is a drain of a node that has evicted one pod and is held up by another.
type halfDrained struct {
	env   *harness.Env
	node  *harness.Node
	event *lifecyclev1alpha1.LifecycleEvent
	pod   *harness.HeldPod
}

// halfDrain drains a node, on which an agent runs, until nothing moves any more.
func halfDrain(t *testing.T, env *harness.Env, node *harness.Node) halfDrained {
	t.Helper()
	h := halfDrained{env: env, node: node, pod: node.HeldPod("held-" + node.Name)}
	node.Pod("free-"+node.Name, quick())
	h.event = node.Event(node.EventName("drain"), harness.Drain, harness.Kept)
	node.AwaitPodsGone(client.MatchingLabels{"app": "free-" + node.Name})
	h.pod.AwaitHeld(t, h.event.Name)
	node.Await("is cordoned by us", func(n *corev1.Node) bool {
		return n.Spec.Unschedulable && len(nodestate.Owners(n)) == 1
	})
	return h
}

// evictsNoMore checks that since the given time nothing was evicted, although nothing
// holds the pod any more; and that it can be, by another drain.
func (h halfDrained) evictsNoMore(t *testing.T, since time.Time) {
	t.Helper()
	h.pod.LetGo(t)
	returnNode(t, h.env, h.node)
	h.env.Untouched(t, h.pod.Pod)
	if evictions := h.node.EvictionsSince(since); len(evictions) > 0 {
		t.Errorf("evictions after the cancellation: %v", evictions)
	}

	drainAgain := h.node.Event(h.node.EventName("drain-again"), harness.Drain)
	h.env.AwaitEventGone(t, drainAgain.Name)
	h.node.AwaitPodsGone(client.MatchingLabels{"app": h.pod.Labels["app"]})
}

// returnNode returns a node, and the event by which it did.
func returnNode(t *testing.T, env *harness.Env, node *harness.Node) *lifecyclev1alpha1.LifecycleEvent {
	t.Helper()
	event := env.Outcome(t, node.Event(node.EventName("return"), harness.Return, harness.Kept).Name)
	if event.Status.ClaimStatus != lifecyclev1alpha1.Succeeded {
		t.Errorf("the node was not returned: %+v", event.Status)
	}
	return event
}

// canceled checks how a canceled event has ended.
func canceled(t *testing.T, event *lifecyclev1alpha1.LifecycleEvent) {
	t.Helper()
	got := []string{string(event.Status.ClaimStatus), harness.Finished(event).Reason, harness.Finished(event).Message}
	want := []string{"Failed", "Canceled", "the event was deleted while it was claimed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("how %s ended (-want +got):\n%s", event.Name, diff)
	}
}

// uncordoned checks that nothing of ours is left on the Node, and that it is
// schedulable.
func uncordoned(t *testing.T, node *harness.Node) {
	t.Helper()
	got := node.Await("is seen", func(*corev1.Node) bool { return true })
	if text, left := got.Annotations[nodestate.CordonsAnnotation]; left || got.Spec.Unschedulable {
		t.Errorf("unschedulable is %v, annotation is %q; want false and none", got.Spec.Unschedulable, text)
	}
}

func TestDeletingAClaimedEventCancelsIt(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "cancel")
	node.Expect(harness.CordonLeft, drainedAgain)
	h := node.Record()
	node.Agent("")
	half := halfDrain(t, env, node)

	env.Delete(t, half.event)
	h.Await(half.event.Name + " Failed")
	since := time.Now()
	canceled(t, env.Outcome(t, half.event.Name))
	uncordoned(t, node)
	h.Await(half.event.Name + " gone")
	if diff := cmp.Diff([]string{"Pending", "Claimed", "Failed", "gone"}, h.States(half.event.Name)); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
	h.Await("node Canceled")
	half.evictsNoMore(t, since)
}

func TestAnEventThatIsDeletedWhileItsAgentIsDownIsCanceled(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "cancel-agent-down")
	node.Expect(harness.CordonLeft, drainedAgain)
	agent := node.Agent("")
	half := halfDrain(t, env, node)

	agent.Kill()
	since := time.Now()
	env.Delete(t, half.event)
	node.Agent("")
	canceled(t, env.Outcome(t, half.event.Name))
	uncordoned(t, node)
	half.evictsNoMore(t, since)
}

// The driver goes on while the agent is down, and must be told when the agent is back,
// although it takes the agent a moment to find it.
func TestADriverOfItsOwnIsToldOfACancellationThatItsAgentHasMissed(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "cancel-driver-up")
	node.Expect(harness.CordonLeft, drainedAgain)
	driver := node.Driver("")
	agent := node.Agent("", "--builtin-drivers=")
	half := halfDrain(t, env, node)

	agent.Kill()
	env.Delete(t, half.event)
	node.Agent("", "--builtin-drivers=")
	canceled(t, env.Outcome(t, half.event.Name))
	since := time.Now()
	driver.AwaitLog(`method="Stop"`)
	uncordoned(t, node)
	half.evictsNoMore(t, since)
}

// Somebody takes the finalizer off by hand and deletes the event, faster than the agent
// can see that it is being deleted.
func TestAnEventThatVanishesIsDrivenNoMore(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "vanish")
	driver := node.Driver("")
	agent := node.Agent("", "--builtin-drivers=")
	half := halfDrain(t, env, node)

	agent.Signal(syscall.SIGSTOP)
	env.StripFinalizers(t, half.event)
	env.Delete(t, half.event)
	agent.Signal(syscall.SIGCONT)
	driver.AwaitLog(`method="Stop"`)
	agent.AwaitLog("The event was deleted while its driver was working")
	since := time.Now()
	half.evictsNoMore(t, since)
	uncordonedAfterReturn := returnNode(t, env, node)
	if c := harness.Condition(uncordonedAfterReturn, lifecyclev1alpha1.ConditionSchedulable); c.Reason != "Returned" {
		t.Errorf("condition Schedulable is %+v", c)
	}
	uncordoned(t, node)
}

func TestDeletingAPendingEventNeedsNobody(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "cancel-pending")
	node.Agent("")

	event := node.Event(node.EventName("gated"), harness.Drain, func(e *lifecyclev1alpha1.LifecycleEvent) {
		e.Spec.Gates = []lifecyclev1alpha1.Gate{{Name: "example.com/approval"}}
	})
	env.AwaitEvent(t, event.Name, "says that it waits", func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		return harness.Condition(e, lifecyclev1alpha1.ConditionClaimable).Reason == lifecyclev1alpha1.ReasonGated
	})
	env.Delete(t, event)
	env.AwaitEventGone(t, event.Name)
	uncordoned(t, node)
}
