// SPDX-License-Identifier: Apache-2.0

package central

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// onNode is the driver of examples/command-driver, and its transition.
const onNode = "command.example.com"

// TestDriversOnNodesAndCentralDriversLiveSideBySide has the drain driver with the controller, and another driver on the
// node, with its agent. Each serves its transition. Then the drain driver is registered on the node as well.
func TestDriversOnNodesAndCentralDriversLiveSideBySide(t *testing.T) {
	t.Parallel()
	env := central(t)
	node := env.Node(t, "side-by-side")
	env.Create(t, &lifecyclev1alpha1.LifecycleTransition{
		ObjectMeta: metav1.ObjectMeta{Name: onNode},
		Spec:       lifecyclev1alpha1.LifecycleTransitionSpec{Driver: onNode, Start: "command-started", End: "command-finished", AllNodes: new(true)},
	})
	controller := env.Controller(t, "of drains", "", centrally)
	controller.AwaitLeading()
	node.Agent("", "--builtin-drivers=")
	harness.StartProcess(t, "driver on "+node.Name, nil, harness.Binary(t, "command-driver"), "--node-name="+node.Name,
		"--plugin-registration-path="+node.RegistrationDir(), "--datadir="+node.DataDir(), "--", "true")

	for event, want := range map[*lifecyclev1alpha1.LifecycleEvent]lifecyclev1alpha1.ClaimerKind{
		node.Event(node.EventName("drain"), harness.Drain, harness.Kept): lifecyclev1alpha1.Controller,
		node.Event(node.EventName("command"), onNode, harness.Kept):      lifecyclev1alpha1.NodeAgent,
	} {
		succeededBy(t, env, event.Name, want)
	}

	// Registered twice: nobody claims. The node's driver goes first.
	driver := node.Driver("")
	lists(node, "command.example.com,drain.slm.k8s.io")
	twice := node.Event(node.EventName("uncordon"), harness.Return, harness.Kept)
	env.AwaitCondition(t, twice.Name, lifecyclev1alpha1.ConditionClaimable, lifecyclev1alpha1.ReasonDriverRegisteredTwice, node.Name, "and also with the controller")
	driver.Stop()
	succeededBy(t, env, twice.Name, lifecyclev1alpha1.Controller)

	// Then the controller's.
	node.Driver("")
	lists(node, "command.example.com,drain.slm.k8s.io")
	again := node.Event(node.EventName("again"), harness.Return, harness.Kept)
	env.AwaitCondition(t, again.Name, lifecyclev1alpha1.ConditionClaimable, lifecyclev1alpha1.ReasonDriverRegisteredTwice)
	controller.Stop()
	env.Controller(t, "without drivers", "").AwaitLeading()
	succeededBy(t, env, again.Name, lifecyclev1alpha1.NodeAgent)
}

// succeededBy checks that a claimer of that kind has brought the event to its end.
func succeededBy(t *testing.T, env *harness.Env, name string, kind lifecyclev1alpha1.ClaimerKind) {
	t.Helper()
	e := env.Outcome(t, name)
	if by := e.Status.ClaimedBy; e.Status.ClaimStatus != lifecyclev1alpha1.Succeeded || by == nil || by.Kind != kind {
		t.Errorf("event %s ended as %s, claimed by %+v: %+v; want Succeeded, by %s", name, e.Status.ClaimStatus, by, harness.Finished(e), kind)
	}
}

// lists waits until the Node lists these drivers of its agent.
func lists(node *harness.Node, drivers string) {
	node.Await("lists "+drivers, func(n *corev1.Node) bool { return n.Annotations["slipway.dev/drivers"] == drivers })
}
