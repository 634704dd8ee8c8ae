// SPDX-License-Identifier: Apache-2.0

package central

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// TestTheControllerMaintainsNodes has two nodes with pods maintained, by the controller's
// own rights, in either of two ways.
func TestTheControllerMaintainsNodes(t *testing.T) {
	t.Parallel()
	env := central(t)
	env.Controller(t, "leader", "", centrally).AwaitLeading()
	for name, tc := range map[string]struct {
		change   func(*slipwayv1alpha1.NodeMaintenanceSpec)
		complete bool // somebody says so
	}{
		"all together": {func(*slipwayv1alpha1.NodeMaintenanceSpec) {}, true},
		"one after the other, with nothing to do": {func(s *slipwayv1alpha1.NodeMaintenanceSpec) {
			s.Rollout = &slipwayv1alpha1.MaintenanceRollout{MaxUnavailable: new(intstr.FromInt32(1))}
			s.Work = &slipwayv1alpha1.MaintenanceWork{Type: slipwayv1alpha1.WorkNone}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			nodes := []*harness.Node{env.Node(t, "maintained"), env.Node(t, "maintained")}
			var pods []*corev1.Pod
			for _, node := range nodes {
				pods = append(pods, node.Pod("web-"+node.Name, quick()))
			}
			maintained(t, env, nodes, tc.change, tc.complete)
			if n := len(nodes[0].CentralEvictions(pods...)); n != len(pods) {
				t.Errorf("there were %d evictions, want one of each of %d pods", n, len(pods))
			}
		})
	}
}

func maintained(t *testing.T, env *harness.Env, nodes []*harness.Node, change func(*slipwayv1alpha1.NodeMaintenanceSpec), complete bool) {
	t.Helper()
	nm := &slipwayv1alpha1.NodeMaintenance{ObjectMeta: metav1.ObjectMeta{Name: "of-" + nodes[0].Name}}
	nm.Spec.Stage = slipwayv1alpha1.StageDrain
	for _, node := range nodes {
		nm.Spec.NodeSelector.NodeSelectorTerms = append(nm.Spec.NodeSelector.NodeSelectorTerms, corev1.NodeSelectorTerm{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node.Name}}},
		})
	}
	change(&nm.Spec)
	if err := env.Client.Create(t.Context(), nm); err != nil {
		t.Fatal(err)
	}
	if nm.Spec.RequestedBy == "" {
		t.Error("the server has not said who asked for it")
	}
	is := func(condition string) func(*slipwayv1alpha1.NodeMaintenance) bool {
		return func(nm *slipwayv1alpha1.NodeMaintenance) bool {
			return apimeta.IsStatusConditionTrue(nm.Status.Conditions, condition)
		}
	}
	list := &slipwayv1alpha1.NodeMaintenanceList{}
	if complete {
		harness.Await(t, env, "is drained", list, is(slipwayv1alpha1.MaintenanceDrained), harness.Named(nm.Name))
		for _, node := range nodes {
			node.AwaitPodsGone(client.MatchingLabels{"app": "web-" + node.Name})
		}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"stage":"Complete"}}`))
		if err := env.Client.Patch(t.Context(), nm, patch); err != nil {
			t.Fatal(err)
		}
	}
	harness.Await(t, env, "is completed", list, is(slipwayv1alpha1.MaintenanceCompleted), harness.Named(nm.Name))
	for _, node := range nodes {
		node.AwaitPodsGone(client.MatchingLabels{"app": "web-" + node.Name})
		node.Await("takes pods", func(n *corev1.Node) bool { return !n.Spec.Unschedulable })
	}
	env.Delete(t, nm)
	harness.AwaitNone[*slipwayv1alpha1.NodeMaintenance](t, env, list, harness.Named(nm.Name))
}
