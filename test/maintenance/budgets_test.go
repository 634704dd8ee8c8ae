// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/auditlog"
	"github.com/slipway-k8s/slipway/test/harness"
)

// TestNodesWhosePodsShareNoBudgetGoTogether has four nodes, of which two may be out: the
// first two have pods with the same budget. By name, they would go together.
func TestNodesWhosePodsShareNoBudgetGoTogether(t *testing.T) {
	s := newStage(t)
	p := start(t, s.env, "")
	c := s.scene(t, 4)
	slices.Sort(c.nodes)
	shared := c.budgetOf(c.group+"-shared", 2, c.nodes[0], c.nodes[1]) // refuses both
	c.budgetOf(c.group+"-other", 0, c.nodes[2])
	m := c.maintain(rolling(2), somebody)
	m.AwaitNode(c.nodes[0], slipwayv1alpha1.NodeDraining, slipwayv1alpha1.ReasonBlocked)
	for _, free := range []int{2, 3} { // while the second shares a budget with a node that is out
		m.AwaitNode(c.nodes[free], slipwayv1alpha1.NodeWorking, slipwayv1alpha1.ReasonWaitingForWork)
		c.done(c.nodes[free])
	}
	// It is the last: a budget slows a drain down, and forbids none.
	m.AwaitNode(c.nodes[1], slipwayv1alpha1.NodeDraining, slipwayv1alpha1.ReasonBlocked)
	c.env.Delete(t, shared)
	for _, node := range c.nodes[:2] {
		m.AwaitNode(node, slipwayv1alpha1.NodeWorking, slipwayv1alpha1.ReasonWaitingForWork)
		c.done(node)
	}
	m.AwaitCompleted()
	want := []string{c.nodes[0], c.nodes[2], c.nodes[3], c.nodes[1]}
	if diff := cmp.Diff(want, c.takenOut()); diff != "" {
		t.Errorf("nodes were taken out in this order (-want +got):\n%s", diff)
	}
	m.Delete()
	p.Stop()
}

// takenOut are the nodes of the scene in the order in which their drains were asked for; two
// at the same moment by name.
func (c *scene) takenOut() (nodes []string) {
	c.t.Helper()
	for _, r := range c.env.Requests(c.t, func(r auditlog.Request) bool {
		return r.Resource == "lifecycleevents" && r.Verb == "create" && r.Code < 300
	}) {
		if node, drain := strings.CutPrefix(r.Name, drainOf("")); drain && slices.Contains(c.nodes, node) {
			nodes = append(nodes, node)
		}
	}
	slices.Sort(nodes[:min(2, len(nodes))])
	return nodes
}

// budgetOf creates a pod on each of the nodes, and a budget that wants so many of them.
func (c *scene) budgetOf(app string, minAvailable int32, nodes ...string) *policyv1.PodDisruptionBudget {
	c.t.Helper()
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: metav1.NamespaceDefault}}
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	b.Spec.MinAvailable = new(intstr.FromInt32(minAvailable))
	c.must(c.env.Client.Create(c.t.Context(), b))
	c.t.Cleanup(func() { c.env.DeleteQuietly(b) })
	for _, node := range nodes {
		template := harness.PodSpec(app, "", harness.PodOptions{Gone: time.Second})
		pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
		pod.Namespace, pod.GenerateName = metav1.NamespaceDefault, app+"-"
		pod.Spec.NodeSelector, pod.Spec.NodeName = nil, node
		c.must(c.env.Client.Create(c.t.Context(), pod))
		c.t.Cleanup(func() { c.env.DeleteQuietly(pod) })
	}
	harness.Await(c.t, c.env, "budget "+b.Name+" counts its pods", &policyv1.PodDisruptionBudgetList{},
		func(b *policyv1.PodDisruptionBudget) bool { return int(b.Status.CurrentHealthy) == len(nodes) }, harness.Named(b.Name))
	return b
}
