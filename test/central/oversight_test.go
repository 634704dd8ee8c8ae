// SPDX-License-Identifier: Apache-2.0

package central

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/test/harness"
)

// TestTheControllerDoesWhatNoNodeCan has one controller, and another that waits, for
// all of its parts.
func TestTheControllerDoesWhatNoNodeCan(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	env.Controller(t, "leader", "").AwaitLeading()
	env.Controller(t, "standby", "").AwaitStandby()
	for name, test := range map[string]func(*testing.T, *harness.Env){
		"an event of a node that does not exist fails after a minute": nodeNotFound,
		"an event of a node that goes fails at once":                  nodeGone,
		"an event of a node without agent says so":                    agentMissing,
		"the deadline of an event counts although its agent is dead":  deadlineOfADeadAgent,
		"an event goes on when its agent is back":                     agentIsBack,
		"an event that was canceled ends although its agent is dead":  canceledOfADeadAgent,
		"a provider drains nodes before it powers off their machines": providerPowersOff,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, env)
		})
	}
}

func nodeNotFound(t *testing.T, env *harness.Env) {
	event := bound(t, env, "no-such-node")
	env.AwaitCondition(t, event.Name, lifecyclev1alpha1.ConditionClaimable, lifecyclev1alpha1.ReasonNodeNotFound, `there is no Node "no-such-node"`)
	phase, reason, _ := outcome(t, env, event.Name)
	if phase != lifecyclev1alpha1.Failed || reason != lifecyclev1alpha1.ReasonNodeNotFound {
		t.Errorf("it ended as %s, %s", phase, reason)
	}
	env.AwaitCoreEvent(t, "no-such-node", "LifecycleEventFailed")
}

// bound creates an event for a node that the harness does not know of.
func bound(t *testing.T, env *harness.Env, node string) *lifecyclev1alpha1.LifecycleEvent {
	t.Helper()
	event := &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{Name: "for-" + node},
		Spec:       lifecyclev1alpha1.LifecycleEventSpec{TransitionName: harness.Drain, BindingNode: node},
	}
	harness.Kept(event)
	if err := env.Client.Create(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { env.StripFinalizers(t, event); env.DeleteQuietly(event) })
	return event
}

func nodeGone(t *testing.T, env *harness.Env) {
	node := env.Node(t, "gone")
	node.Agent("")
	pod := node.HeldPod("held-" + node.Name)
	event := node.Event(node.EventName("drain"), harness.Drain, harness.Kept)
	pod.AwaitHeld(t, event.Name)
	env.Delete(t, node.Await("is seen", func(*corev1.Node) bool { return true }))
	phase, reason, message := outcome(t, env, event.Name)
	if phase != lifecyclev1alpha1.Failed || reason != lifecyclev1alpha1.ReasonNodeGone {
		t.Errorf("it ended as %s, %s: %s", phase, reason, message)
	}
}

// A node that takes no pods has no agent either.
func agentMissing(t *testing.T, env *harness.Env) {
	const name = "no-room-for-an-agent"
	none := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourcePods: resource.MustParse("0")}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}},
		Status:     corev1.NodeStatus{Capacity: none, Allocatable: none},
	}
	if err := env.Client.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { env.DeleteQuietly(node) })
	event := bound(t, env, name)
	env.AwaitCondition(t, event.Name, lifecyclev1alpha1.ConditionClaimable, lifecyclev1alpha1.ReasonAgentMissing,
		"no pod of Slipway's agent is on node", "install its DaemonSet")
	if phase := event.Status.ClaimStatus; phase.Terminal() {
		t.Errorf("it is %s", phase)
	}
}

// half drains the node until a pod holds the drain up, and lets its agent die.
func half(t *testing.T, node *harness.Node, change ...func(*lifecyclev1alpha1.LifecycleEvent)) (*lifecyclev1alpha1.LifecycleEvent, *harness.HeldPod) {
	t.Helper()
	agent := node.Agent("")
	pod := node.HeldPod("held-" + node.Name)
	event := node.Event(node.EventName("drain"), harness.Drain, append(change, harness.Kept)...)
	pod.AwaitHeld(t, event.Name)
	agent.Kill()
	node.SetAgentReady(false)
	return event, pod
}

func deadlineOfADeadAgent(t *testing.T, env *harness.Env) {
	node := env.Node(t, "deadline")
	h := node.Record()
	event, _ := half(t, node, harness.SLA(30*time.Second))
	before := time.Now()
	env.AwaitCondition(t, event.Name, lifecyclev1alpha1.ConditionStalled, lifecyclev1alpha1.ReasonAgentNotReady, "no claimer has driven the event since")
	phase, _, message := outcome(t, env, event.Name)
	if phase != lifecyclev1alpha1.SlaExpired || !strings.Contains(message, "the controller has ended it") {
		t.Errorf("it ended as %s: %s", phase, message)
	}
	if took := time.Since(before); took < 30*time.Second || took > 4*time.Minute {
		t.Errorf("it took %s; the agent is dead after 40 s, and the deadline has passed by 30 s after at most 60 s", took)
	}
	h.Await("node SlaExpired")

	// The next event is driven when there is an agent again.
	node.Agent("")
	node.SetAgentReady(true)
	returned := node.Event(node.EventName("uncordon"), harness.Return)
	env.AwaitEventGone(t, returned.Name)
}

func agentIsBack(t *testing.T, env *harness.Env) {
	node := env.Node(t, "back")
	node.Expect(harness.CordonLeft, notReturned)
	event, pod := half(t, node)
	env.AwaitCondition(t, event.Name, lifecyclev1alpha1.ConditionStalled, lifecyclev1alpha1.ReasonAgentNotReady)
	node.Agent("")
	node.SetAgentReady(true)
	env.AwaitCondition(t, event.Name, lifecyclev1alpha1.ConditionStalled, lifecyclev1alpha1.ReasonAgentReady)
	env.AwaitEvent(t, event.Name, "is claimed still", func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		return e.Status.ClaimStatus == lifecyclev1alpha1.Claimed
	})
	pod.LetGo(t)
	if phase, reason, message := outcome(t, env, event.Name); phase != lifecyclev1alpha1.Succeeded {
		t.Errorf("it ended as %s, %s: %s", phase, reason, message)
	}
}

func canceledOfADeadAgent(t *testing.T, env *harness.Env) {
	node := env.Node(t, "canceled")
	event, _ := half(t, node)
	env.Delete(t, event)
	phase, reason, message := outcome(t, env, event.Name)
	if phase != lifecyclev1alpha1.Failed || reason != lifecyclev1alpha1.ReasonCanceled || !strings.Contains(message, "the controller has ended it") {
		t.Errorf("it ended as %s, %s: %s", phase, reason, message)
	}
	node.Await("is not cordoned any more", func(n *corev1.Node) bool {
		return !n.Spec.Unschedulable && len(nodestate.Owners(n)) == 0
	})
}
