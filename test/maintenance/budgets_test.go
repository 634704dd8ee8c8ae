// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
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
	shared, other := c.group+"-shared", c.group+"-other"
	c.lenient(shared, c.nodes[0], c.nodes[1])
	c.lenient(other, c.nodes[2])
	m := c.maintain(rolling(2), somebody)
	c.awaitOut(m, 0, 2)
	c.done(c.nodes[2])
	c.awaitOut(m, 0, 3) // the second still shares one with a node that is out
	c.done(c.nodes[3])
	c.awaitOut(m, 0, 1) // it is the last: a budget slows a drain down, and forbids none
	c.done(c.nodes[0])
	c.done(c.nodes[1])
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

// lenient creates a pod on each of the nodes, and a budget that is for all of them and
// refuses none.
func (c *scene) lenient(app string, nodes ...string) {
	c.t.Helper()
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: metav1.NamespaceDefault}}
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	b.Spec.MinAvailable = new(intstr.FromInt32(0))
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
}

// awaitOut waits until the nodes with these numbers wait for their work to be done.
func (c *scene) awaitOut(m *harness.Maintenance, numbers ...int) {
	c.t.Helper()
	m.Await(fmt.Sprintf("has nodes %v at work", numbers), func(o *slipwayv1alpha1.NodeMaintenance) bool {
		var out, want []string
		for _, n := range o.Status.NodeStatuses {
			if n.Phase == slipwayv1alpha1.NodeWorking {
				out = append(out, n.Name)
			}
		}
		for _, number := range numbers {
			want = append(want, c.nodes[number])
		}
		slices.Sort(out)
		return slices.Equal(out, want)
	})
}
