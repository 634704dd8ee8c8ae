// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// TestDrainsThatWaitForEachOther has two nodes and two workloads that run on these alone, one
// pod on each. A pod of one workload has left one node, and of the other the other: each
// drain is refused by the budget of a pod that only the other node could take.
func TestDrainsThatWaitForEachOther(t *testing.T) {
	s := newStage(t)
	p := start(t, s.env, "")
	c := s.scene(t, 2)
	x, y := c.group+"-x", c.group+"-y"
	c.spread(x, 1)
	yBudget := c.spread(y, 2) // refuses both, for now
	m := c.maintain(rolling(2), nobody)
	harness.Await(t, c.env, "a pod of x has left, and what replaces it finds no node", &corev1.PodList{},
		func(pod *corev1.Pod) bool { return pod.Spec.NodeName == "" }, client.InNamespace(metav1.NamespaceDefault), client.MatchingLabels{"app": x})
	stays := c.podsOf(x)
	if len(stays) != 1 {
		t.Fatalf("%d pods of x are on nodes", len(stays))
	}
	for _, pod := range c.podsOf(y) {
		if pod.Spec.NodeName == stays[0].Spec.NodeName {
			c.env.Delete(t, pod)
		}
	}
	before := yBudget.DeepCopy()
	yBudget.Spec.MinAvailable = new(intstr.FromInt32(1))
	c.must(c.env.Client.Patch(t.Context(), yBudget, client.MergeFrom(before)))

	gaveWay := ""
	m.Await("has a node that gives way", func(o *slipwayv1alpha1.NodeMaintenance) bool {
		for _, n := range o.Status.NodeStatuses {
			if n.Reason == slipwayv1alpha1.ReasonDeadlockHeldBack {
				gaveWay = n.Name
			}
		}
		return gaveWay != ""
	})
	o := m.AwaitCompleted()
	if o.Status.Nodes.Returned != 2 {
		t.Errorf("it has ended with %+v", o.Status.Nodes)
	}
	for _, node := range c.nodes {
		want := 1
		if node == gaveWay {
			want = 2
		}
		begun := len(slices.DeleteFunc(c.takenOut(), func(name string) bool { return name != node }))
		if begun != want {
			t.Errorf("node %s was taken out %d times, want %d; %s gave way", node, begun, want, gaveWay)
		}
	}
	m.Delete()
	p.Stop()
}

// spread creates a workload with a pod on each of two nodes, and a budget for it.
func (c *scene) spread(app string, minAvailable int32) *policyv1.PodDisruptionBudget {
	c.t.Helper()
	labels, named := &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, metav1.ObjectMeta{Name: app, Namespace: metav1.NamespaceDefault}
	d := &appsv1.Deployment{ObjectMeta: named, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(2)), Selector: labels,
		Template: harness.PodSpec(app, c.group, harness.PodOptions{Ready: 200 * time.Millisecond, Gone: time.Second}),
	}}
	d.Spec.Template.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname, LabelSelector: labels}},
	}}
	b := &policyv1.PodDisruptionBudget{ObjectMeta: named, Spec: policyv1.PodDisruptionBudgetSpec{Selector: labels, MinAvailable: new(intstr.FromInt32(minAvailable))}}
	for _, o := range []client.Object{d, b} {
		c.must(c.env.Client.Create(c.t.Context(), o))
		c.t.Cleanup(func() { c.env.DeleteQuietly(o) })
	}
	return harness.Await(c.t, c.env, "budget "+app+" counts its pods", &policyv1.PodDisruptionBudgetList{},
		func(b *policyv1.PodDisruptionBudget) bool { return b.Status.CurrentHealthy == 2 }, harness.Named(app))
}

// podsOf are the pods of a workload that are on nodes, and stay there.
func (c *scene) podsOf(app string) (pods []*corev1.Pod) {
	c.t.Helper()
	var list corev1.PodList
	c.must(c.env.Client.List(c.t.Context(), &list, client.InNamespace(metav1.NamespaceDefault), client.MatchingLabels{"app": app}))
	for i := range list.Items {
		if pod := &list.Items[i]; pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	return pods
}
