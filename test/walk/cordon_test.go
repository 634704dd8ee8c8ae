// SPDX-License-Identifier: Apache-2.0

package walk

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/test/harness"
)

// returnedWith checks what the event that returned a node says of it.
func returnedWith(t *testing.T, event *lifecyclev1alpha1.LifecycleEvent, status metav1.ConditionStatus, reason string, messageParts ...string) {
	t.Helper()
	c := harness.Condition(event, lifecyclev1alpha1.ConditionSchedulable)
	if c.Status != status || c.Reason != reason {
		t.Errorf("condition Schedulable is %+v; want %s with reason %s", c, status, reason)
	}
	for _, part := range messageParts {
		if !strings.Contains(c.Message, part) {
			t.Errorf("the message of condition Schedulable is %q; want it to name %q", c.Message, part)
		}
	}
}

// cordonedByOthersOnly checks that the Node is cordoned, and that we have no part in it.
func cordonedByOthersOnly(t *testing.T, node *harness.Node) {
	t.Helper()
	got := node.Await("is seen", func(*corev1.Node) bool { return true })
	if text, left := got.Annotations[nodestate.CordonsAnnotation]; left || !got.Spec.Unschedulable {
		t.Errorf("unschedulable is %v, annotation is %q; want true and none", got.Spec.Unschedulable, text)
	}
}

func TestANodeThatOthersHaveCordonedStaysCordoned(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "foreign-cordon")
	node.Agent("")

	env.Kubectl(t, "cordon", node.Name)
	node.Pod("foreign-cordon", quick())
	drain := env.Outcome(t, node.Event(node.EventName("drain"), harness.Drain, harness.Kept).Name)
	if drain.Status.ClaimStatus != lifecyclev1alpha1.Succeeded {
		t.Fatalf("the drain has not succeeded: %+v", drain.Status)
	}
	node.AwaitPodsGone(client.MatchingLabels{"app": "foreign-cordon"})

	returned := returnNode(t, env, node)
	returnedWith(t, returned, metav1.ConditionFalse, "CordonedByOthers", `"kubectl"`, "kubectl uncordon "+node.Name)
	cordonedByOthersOnly(t, node)

	env.Kubectl(t, "uncordon", node.Name)
	returnedWith(t, returnNode(t, env, node), metav1.ConditionTrue, "Returned")
	uncordoned(t, node)
}

// A return undoes what we did; nobody has to have been drained for it.
func TestReturningANodeThatOnlyOthersHaveCordonedChangesNothing(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "foreign-only")
	node.Agent("")

	env.Kubectl(t, "cordon", node.Name)
	returnedWith(t, returnNode(t, env, node), metav1.ConditionFalse, "CordonedByOthers", `"kubectl"`)
	cordonedByOthersOnly(t, node)
}

func TestCancelingADrainLeavesTheCordonOfOthers(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "cancel-foreign")
	node.Agent("")

	env.Kubectl(t, "cordon", node.Name)
	half := halfDrain(t, env, node)
	env.Delete(t, half.event)
	canceled(t, env.Outcome(t, half.event.Name))
	cordonedByOthersOnly(t, node)
	returnedWith(t, returnNode(t, env, node), metav1.ConditionFalse, "CordonedByOthers", `"kubectl"`)
}

func TestCancelingOneOfTwoDrainsLeavesTheCordonOfTheOther(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "stacked")
	h := node.Record()
	node.Agent("")

	first := node.Event(node.EventName("first"), harness.Drain)
	drained(t, env, h, first.Name)
	pod := node.HeldPod("stacked-" + node.Name)
	second := node.Event(node.EventName("second"), harness.Drain, harness.Kept)
	pod.AwaitHeld(t, second.Name)
	node.Await("is cordoned for both", func(n *corev1.Node) bool { return len(nodestate.Owners(n)) == 2 })

	env.Delete(t, second)
	canceled(t, env.Outcome(t, second.Name))
	got := node.Await("is seen", func(*corev1.Node) bool { return true })
	if owners := nodestate.Owners(got); !got.Spec.Unschedulable || len(owners) != 1 || owners[0] != first.UID {
		t.Errorf("unschedulable is %v for %v; want true for the first drain, %s", got.Spec.Unschedulable, owners, first.UID)
	}

	returnedWith(t, returnNode(t, env, node), metav1.ConditionTrue, "Returned")
	uncordoned(t, node)
	env.Untouched(t, pod.Pod)
}
