// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance"
)

// eventInTheWay: somebody has a LifecycleEvent of the name that that of the node's drain would
// have. Nothing moves, which the status says, and the Node does not say that it is being
// maintained. When the object is gone, it goes on by itself.
func eventInTheWay(c *scene) {
	node := c.nodes[0]
	foreign := &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{Name: drainOf(node)},
		Spec:       lifecyclev1alpha1.LifecycleEventSpec{TransitionName: "none.example.com", BindingNode: node},
	}
	c.must(c.env.Client.Create(c.t.Context(), foreign))
	c.t.Cleanup(func() { c.env.DeleteQuietly(foreign) })
	m := c.maintain(nobody)
	says := "LifecycleEvent " + drainOf(node) + " exists, and belongs to no NodeMaintenance"
	if n := m.AwaitNode(node, slipwayv1alpha1.NodeHeld, slipwayv1alpha1.ReasonStepRefused); !strings.Contains(n.Message, says) {
		c.t.Errorf("the node is held for %q", n.Message)
	}
	o := m.AwaitCondition(slipwayv1alpha1.MaintenanceProgressing, metav1.ConditionFalse, slipwayv1alpha1.ReasonStepRefused)
	c.says(o, says)
	c.awaitNode(node, "says that it is planned", saysOnly(maintenance.NodeMaintenancePlanned))
	c.awaitBack(node)
	c.env.Delete(c.t, foreign)
	m.AwaitCompleted()
	c.awaitBack(node)
	m.Delete()
}

// saysOnly is that of the conditions of maintenances, the Node has this one as True alone.
func saysOnly(kind corev1.NodeConditionType) func(*corev1.Node) bool {
	return func(n *corev1.Node) bool {
		var is []corev1.NodeConditionType
		for _, c := range n.Status.Conditions {
			if strings.HasPrefix(string(c.Type), "Maintenance") && c.Status == corev1.ConditionTrue {
				is = append(is, c.Type)
			}
		}
		return slices.Equal(is, []corev1.NodeConditionType{kind})
	}
}
