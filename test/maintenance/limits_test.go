// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// perDomain: two of each zone, however many zones there are.
func perDomain(c *scene) {
	zone := func(name string) map[string]string { return map[string]string{corev1.LabelTopologyZone: name} }
	inA := c.env.Fleet(c.t, c.group, []map[string]string{zone("a"), zone("a"), zone("a")})
	inB := c.env.Fleet(c.t, c.group, []map[string]string{zone("b"), zone("b"), zone("b")})
	slices.Sort(inA)
	slices.Sort(inB)
	c.nodes = slices.Concat(inA, inB)
	m := c.maintain(somebody, func(s *slipwayv1alpha1.NodeMaintenanceSpec) {
		s.Rollout = &slipwayv1alpha1.MaintenanceRollout{TopologyKey: corev1.LabelTopologyZone, PerDomain: new(int32(2))}
	})
	awaits := func(waiting int32, nodes ...string) {
		for _, node := range nodes {
			m.AwaitNode(node, slipwayv1alpha1.NodeWorking, slipwayv1alpha1.ReasonWaitingForWork)
		}
		o := m.Await("has told of all", func(o *slipwayv1alpha1.NodeMaintenance) bool { return o.Status.Nodes.Waiting == waiting })
		if int(o.Status.Nodes.Out) != len(nodes) {
			c.t.Errorf("%+v, while %v are to be out", o.Status.Nodes, nodes)
		}
	}
	awaits(2, inA[0], inA[1], inB[0], inB[1])
	c.onlyBegan(slices.Sorted(slices.Values([]string{inA[0], inA[1], inB[0], inB[1]}))...)
	c.done(inB[0]) // the other zone is full as before
	awaits(1, inA[0], inA[1], inB[1], inB[2])
	c.done(inA[0])
	awaits(0, inA[1], inA[2], inB[1], inB[2])
	for _, node := range []string{inA[1], inA[2], inB[1], inB[2]} {
		c.done(node)
	}
	m.AwaitCompleted()
	m.Delete()
}

// failureThreshold: one failure lets others begin, a second one does not.
func failureThreshold(c *scene) {
	c.fleet(nil, nil, nil, nil)
	m := c.maintain(job("failing"), func(s *slipwayv1alpha1.NodeMaintenanceSpec) {
		s.Rollout.MaxUnavailable, s.Rollout.FailureThreshold = new(intstr.FromInt32(2)), new(int32(2))
		s.Work.BackoffLimit = new(int32(0))
	})
	end := func(node string, well bool) { endJob(c.t, c.env, awaitJob(c.t, c.env, node), well) }
	end(c.nodes[0], false)
	m.AwaitNode(c.nodes[0], slipwayv1alpha1.NodeFailed, slipwayv1alpha1.ReasonJobFailed)
	end(c.nodes[1], true)
	end(c.nodes[2], false)
	o := m.AwaitCondition(slipwayv1alpha1.MaintenanceProgressing, metav1.ConditionFalse, slipwayv1alpha1.ReasonFailureThreshold)
	if n := o.Status.Nodes; n.Failed != 2 || n.Returned != 1 || n.Waiting != 1 {
		c.t.Errorf("it stands with %+v", n)
	}
	c.onlyBegan(c.nodes[:3]...)
	m.Change(func(s *slipwayv1alpha1.NodeMaintenanceSpec) { s.Retry, s.Work.PodTemplate = 1, "work" })
	if n := m.AwaitCompleted().Status.Nodes; n.Returned != 4 {
		c.t.Errorf("it has ended with %+v", n)
	}
	m.Delete()
}
