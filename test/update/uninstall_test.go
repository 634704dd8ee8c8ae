// SPDX-License-Identifier: Apache-2.0

package update

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// busy is a cluster on which Slipway is at work.
type busy struct {
	env *harness.Env
	// draining is in the middle of a drain; drained was not returned; foreign neither, and
	// was cordoned by somebody else before.
	draining, drained, foreign *harness.Node
	// event is that of the drain, held what holds it up.
	event string
	held  *harness.HeldPod
	// processes are ours.
	processes []*harness.Process
}

func install(t *testing.T) *busy {
	t.Helper()
	b := &busy{env: harness.OwnBare(t)}
	follow(t, b.env, "Install", "")
	controller := b.env.Controller(t, "leader", "")
	b.processes = append(b.processes, controller)
	for _, node := range []**harness.Node{&b.draining, &b.drained, &b.foreign} {
		*node = b.env.Node(t, "uninstall")
		b.processes = append(b.processes, (*node).Agent(""))
	}
	controller.AwaitLeading()
	b.env.Kubectl(t, "cordon", b.foreign.Name)
	b.event = b.draining.EventName("drain")
	b.held = b.draining.HeldPod("held-" + b.draining.Name)
	b.draining.Event(b.event, harness.Drain)
	for _, node := range []*harness.Node{b.drained, b.foreign} {
		node.Event(node.EventName("drain"), harness.Drain, harness.Kept)
		if ended := b.env.Outcome(t, node.EventName("drain")); ended.Status.ClaimStatus != lifecyclev1alpha1.Succeeded {
			t.Fatalf("the drain of %s ended as %s", node.Name, ended.Status.ClaimStatus)
		}
	}
	b.held.AwaitHeld(t, b.event)
	keptMaintenance(t, b.env)
	return b
}

// keptMaintenance creates a NodeMaintenance that stays, and waits for its finalizer, which the controller removes.
func keptMaintenance(t *testing.T, env *harness.Env) {
	t.Helper()
	m := &slipwayv1alpha1.NodeMaintenance{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
	m.Spec.Stage = slipwayv1alpha1.StageDrain
	m.Spec.NodeSelector = corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: harness.GroupLabel, Operator: corev1.NodeSelectorOpIn, Values: []string{"nobody"}}},
	}}}
	env.Create(t, m)
	harness.Await(t, env, "the maintenance has its finalizer", &slipwayv1alpha1.NodeMaintenanceList{}, func(o *slipwayv1alpha1.NodeMaintenance) bool {
		return slices.Contains(o.Finalizers, slipwayv1alpha1.MaintenanceFinalizer)
	}, harness.Named(m.Name))
}

func TestAnUninstallLeavesNothing(t *testing.T) {
	t.Parallel()
	b := install(t)
	follow(t, b.env, "Uninstall", "")
	b.nothingIsLeft(t)
}

// Somebody deletes all there is, and what runs dies with it.
func TestWhatIsDeletedAtOnceIsCleanedUpByHand(t *testing.T) {
	t.Parallel()
	b := install(t)
	for _, p := range b.processes {
		p.Kill()
	}
	b.env.Kubectl(t, "delete", "--wait=false", "-f", harness.File(t, manifest))
	// The event waits for who is dead, and its kind for the event.
	crd := terminating(t, b.env)
	t.Logf("left is %s", crd)
	if e := eventOf(t, b.env, b.event); !slices.Contains(e.Finalizers, lifecyclev1alpha1.ClaimProtectionFinalizer) {
		t.Errorf("the event has finalizers %q", e.Finalizers)
	}
	for _, node := range []*harness.Node{b.draining, b.drained, b.foreign} {
		node.Await("is cordoned still", func(n *corev1.Node) bool { return n.Spec.Unschedulable && n.Annotations["slipway.dev/cordons"] != "" })
	}
	b.othersWork(t)

	follow(t, b.env, "If everything was deleted at once", "")
	b.nothingIsLeft(t)
}

// terminating waits until the kind of events is about to go, and returns its name.
func terminating(t *testing.T, env *harness.Env) string {
	t.Helper()
	const name = "lifecycleevents." + lifecyclev1alpha1.GroupKubernetes
	env.Kubectl(t, "wait", "--for=condition="+string(apiextensionsv1.Terminating), "--timeout=60s", "crd/"+name)
	return name
}
