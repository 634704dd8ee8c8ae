// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/auditcheck"
	"github.com/slipway-k8s/slipway/test/harness"
)

// TestGuardsHoldMaintenancesAsWell: where the guards are installed, as they are unless
// somebody says otherwise, they hold the drains of a maintenance until its spec.allow says
// that it is wanted. Guards look at all nodes, so this has a cluster of its own.
func TestGuardsHoldMaintenancesAsWell(t *testing.T) {
	t.Parallel()
	env := harness.Own(t, options)
	env.WithoutAgents(t)
	env.Guards(t)
	s := &stage{env: env}
	env.KeepAllPromises(t, func() auditcheck.Options { return auditcheck.Options{} })
	c := &scene{stage: s, t: t, group: "guarded"}
	controlPlane := map[string]string{"node-role.kubernetes.io/control-plane": ""}
	c.nodes = env.Fleet(t, c.group, []map[string]string{controlPlane, controlPlane, controlPlane})
	for _, node := range c.nodes {
		c.pod(node)
	}
	p := start(t, env, "")

	// Two of three are accepted. The second waits for the first, and that for the second.
	two := c.maintainAs("two", together, named(c.nodes[:2]...))
	c.heldByGuard(two, lifecyclev1alpha1.GuardSecondControlPlaneNode, slipwayv1alpha1.GuardAllControlPlaneNodes)
	two.Change(allowing(slipwayv1alpha1.GuardAllControlPlaneNodes))
	c.goesTogether(two, 2)

	// All that there are, worker-1 among them: the last one has to be allowed, too.
	all := c.maintainAs("all", together, everything, allowing(slipwayv1alpha1.GuardAllControlPlaneNodes))
	c.heldByGuard(all, lifecyclev1alpha1.GuardLastSchedulableNode, slipwayv1alpha1.GuardLastSchedulableNode)
	all.Change(allowing(slipwayv1alpha1.GuardLastSchedulableNode))
	c.goesTogether(all, len(c.nodes)+1)
	for _, node := range c.nodes {
		c.awaitBack(node)
	}
	p.Stop()
}

// heldByGuard waits until a maintenance stands because a guard holds one of its nodes, and
// says what lets it.
func (c *scene) heldByGuard(m *Maintenance, guard lifecyclev1alpha1.Guard, lets slipwayv1alpha1.MaintenanceGuard) {
	c.t.Helper()
	o := m.AwaitCondition(slipwayv1alpha1.MaintenanceProgressing, metav1.ConditionFalse, string(guard))
	i := slices.IndexFunc(o.Status.NodeStatuses, func(n slipwayv1alpha1.MaintenanceNodeStatus) bool {
		return n.Phase == slipwayv1alpha1.NodeHeld && n.Reason == string(guard)
	})
	says := "spec.allow: [" + string(lets) + "] lets it"
	if i != 0 || !strings.HasSuffix(o.Status.NodeStatuses[i].Message, says) || !strings.HasSuffix(o.Status.Message, says) {
		c.t.Errorf("of maintenance %s, the first node is not one of which is said that %s: %s; %+v", m.Name, says, o.Status.Message, o.Status.NodeStatuses)
	}
}

// goesTogether waits until all nodes are drained, has them return, and until nothing is left.
func (c *scene) goesTogether(m *Maintenance, nodes int) {
	c.t.Helper()
	o := m.AwaitCondition(slipwayv1alpha1.MaintenanceDrained, metav1.ConditionTrue, slipwayv1alpha1.ReasonDrained)
	if got := o.Status.Nodes; got.Selected != int32(nodes) || got.Drained != int32(nodes) {
		c.t.Errorf("of maintenance %s, %d nodes are to be drained: %+v", m.Name, nodes, got)
	}
	m.Change(in(slipwayv1alpha1.StageComplete))
	if got := m.AwaitCompleted().Status.Nodes; got.Returned != int32(nodes) {
		c.t.Errorf("maintenance %s has ended with %+v", m.Name, got)
	}
	m.Delete()
}

func allowing(guard slipwayv1alpha1.MaintenanceGuard) change {
	return func(s *slipwayv1alpha1.NodeMaintenanceSpec) { s.Allow = append(s.Allow, guard) }
}

// named selects nodes by their names.
func named(nodes ...string) change {
	return func(s *slipwayv1alpha1.NodeMaintenanceSpec) {
		s.NodeSelector.NodeSelectorTerms = nil
		for _, node := range nodes {
			s.NodeSelector.NodeSelectorTerms = append(s.NodeSelector.NodeSelectorTerms, corev1.NodeSelectorTerm{
				MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
			})
		}
	}
}

// everything selects all nodes.
func everything(s *slipwayv1alpha1.NodeMaintenanceSpec) {
	s.NodeSelector.NodeSelectorTerms = []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelOSStable, Operator: corev1.NodeSelectorOpExists}},
	}}
}
