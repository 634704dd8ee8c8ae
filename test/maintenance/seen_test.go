// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// uncordoned: it is seen that somebody uncordons a node that is out, and its drain, which begins
// anew for that, cordons it again and goes on.
func uncordoned(c *scene) {
	node := c.nodes[0]
	c.held(node)
	m := c.maintain(nobody)
	m.AwaitNode(node, slipwayv1alpha1.NodeDraining, slipwayv1alpha1.ReasonBlocked)
	c.cordon(node, false)
	harness.Await(c.t, c.env, "a core Event tells of the uncordon", &corev1.EventList{}, func(e *corev1.Event) bool {
		return e.InvolvedObject.Name == m.Name && e.Reason == "NodeUncordoned" && strings.Contains(e.Message, node)
	}, client.InNamespace(metav1.NamespaceDefault))
	c.awaitCordoned(node)
	m.AwaitNode(node, slipwayv1alpha1.NodeDraining, slipwayv1alpha1.ReasonBlocked)
	c.untouched()
	c.letGo()
	m.AwaitCompleted()
	c.awaitBack(node)
	m.Delete()
}

// planned: the Node says of which maintenance, and not before when; then that it goes on.
func planned(c *scene) {
	node, opens := c.nodes[0], time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	m := c.maintain(somebody, func(s *slipwayv1alpha1.NodeMaintenanceSpec) {
		s.Window = &slipwayv1alpha1.MaintenanceWindow{NotBefore: new(metav1.NewTime(opens))}
	})
	c.awaitSaid(node, "MaintenancePlanned", corev1.ConditionTrue, m.Name+" (not before "+opens.Format(time.RFC3339)+")")
	m.AwaitCondition(slipwayv1alpha1.MaintenanceProgressing, metav1.ConditionFalse, slipwayv1alpha1.ReasonBeforeWindow)
	m.Change(func(s *slipwayv1alpha1.NodeMaintenanceSpec) { s.Window = nil })
	m.AwaitNode(node, slipwayv1alpha1.NodeWorking, slipwayv1alpha1.ReasonWaitingForWork)
	c.awaitSaid(node, "MaintenanceInProgress", corev1.ConditionTrue, m.Name)
	c.awaitSaid(node, "MaintenancePlanned", corev1.ConditionFalse, "")
	c.done(node)
	m.AwaitCompleted()
	c.awaitSaid(node, "MaintenanceInProgress", corev1.ConditionFalse, "")
	m.Delete()
}

// awaitSaid waits until a Node has a condition that says this.
func (c *scene) awaitSaid(node string, kind corev1.NodeConditionType, status corev1.ConditionStatus, message string) {
	c.t.Helper()
	c.awaitNode(node, "says "+string(kind)+"="+string(status)+" "+message, func(n *corev1.Node) bool {
		for _, condition := range n.Status.Conditions {
			if condition.Type == kind {
				return condition.Status == status && condition.Message == message
			}
		}
		return false
	})
}
