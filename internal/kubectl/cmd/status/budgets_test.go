// SPDX-License-Identifier: Apache-2.0

package status

import (
	"io"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli/clitest"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

func TestBudgetsSaysWhatIsOutAndWhatWaits(t *testing.T) {
	budget := func(name string, change func(*slipwayv1alpha1.NodeAvailabilityBudget)) *slipwayv1alpha1.NodeAvailabilityBudget {
		b := &slipwayv1alpha1.NodeAvailabilityBudget{ObjectMeta: metav1.ObjectMeta{Name: name}}
		change(b)
		return b
	}
	waits := func(node, user, message string) *lifecyclev1alpha1.LifecycleEvent {
		e := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Name: "drain-" + node}}
		e.Spec.BindingNode, e.Spec.RequestedBy = node, user
		e.Spec.Gates = []lifecyclev1alpha1.Gate{{Name: lifecyclev1alpha1.GateGuards}}
		e.Status.Conditions = []metav1.Condition{{Type: "GuardsPassed", Status: "False", Reason: "NodeAvailabilityBudget", Message: message}}
		return e
	}
	ended := waits("worker-7", "eve", `NodeAvailabilityBudget "zones" allows at most 1 of 2 nodes`)
	ended.Status.ClaimStatus = lifecyclev1alpha1.Failed
	for name, list := range map[string]budgetList{
		"none": budgetRows(nil, nil),
		"some": budgetRows([]*slipwayv1alpha1.NodeAvailabilityBudget{
			budget("zones", func(b *slipwayv1alpha1.NodeAvailabilityBudget) {
				b.Spec.MaxUnavailable, b.Spec.TopologyKey = new(intstr.FromInt32(1)), "topology.kubernetes.io/zone"
				b.Status = slipwayv1alpha1.NodeAvailabilityBudgetStatus{Nodes: 4, Unavailable: 2, UnavailableNodes: []slipwayv1alpha1.UnavailableNode{
					{Name: "worker-1", Group: "a", Reason: `held by user "ada"`}, {Name: "worker-3", Group: "b", Reason: "not Ready"},
				}}
			}),
			budget("half", func(b *slipwayv1alpha1.NodeAvailabilityBudget) {
				b.Spec.MinAvailable = new(intstr.FromString("25%"))
				b.Status = slipwayv1alpha1.NodeAvailabilityBudgetStatus{Nodes: 4, Unavailable: 2, DisruptionsAllowed: 1, UnavailableNodes: []slipwayv1alpha1.UnavailableNode{
					{Name: "worker-1", Reason: `held by user "carol" (actor "blue")`}, {Name: "worker-3", Reason: "not Ready"},
				}}
			}),
			budget("typo", func(b *slipwayv1alpha1.NodeAvailabilityBudget) {
				b.Spec.MaxUnavailable = new(intstr.FromString("10%"))
				b.Status.Message = `spec.selector: values[0][zone]: Invalid value: "not a value!"`
			}),
		}, []*lifecyclev1alpha1.LifecycleEvent{
			waits("worker-2", "bob", `NodeAvailabilityBudget "zones" allows at most 1 of 2 nodes with topology.kubernetes.io/zone=a out of service`),
			waits("worker-9", "", `NodeAvailabilityBudget "typo": spec.selector: no`),
			ended,
		}),
	} {
		t.Run(name, func(t *testing.T) {
			clitest.GoldenStyles(t, "budgets/"+name, func(out io.Writer, style ui.Style) error {
				_, err := io.WriteString(out, list.text(style, false))
				return err
			})
			clitest.GoldenEncoded(t, "budgets/"+name, list)
		})
	}
}
