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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// TestWhoBeginsNext has more nodes than may be out, and looks at what they wait for.
func TestWhoBeginsNext(t *testing.T) {
	s := newStage(t)
	podTemplate(t, s.env, "work", time.Millisecond)
	podTemplate(t, s.env, "failing", harness.Forever)
	people(t, s.env)
	p := start(t, s.env, "")
	t.Run("all", func(t *testing.T) {
		for name, test := range map[string]func(*scene){
			"none before the last is Ready again":               notReady,
			"none before its DaemonSets are, or it is accepted": daemonUnready,
			"none while pods do not run":                        podsDoNotRun,
			"so many of each zone, side by side":                perDomain,
			"none when so many have failed":                     failureThreshold,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(&scene{stage: s, t: t, group: fmt.Sprintf("scene-%d", scenes.Add(1))})
			})
		}
	})
	p.Stop()
}

// fleet creates the nodes of a scene, in the order of their names.
func (c *scene) fleet(labels ...map[string]string) {
	c.t.Helper()
	c.nodes = c.env.Fleet(c.t, c.group, labels)
	slices.Sort(c.nodes)
}

// isReady writes condition Ready of a Node or a Pod.
func (c *scene) isReady(o client.Object, status corev1.ConditionStatus) {
	c.t.Helper()
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":%q,"reason":"Test"}]}}`, status)
	c.must(c.env.Client.Status().Patch(c.t.Context(), o, client.RawPatch(types.StrategicMergePatchType, []byte(patch))))
}

// onlyBegan checks which nodes have been taken out by now.
func (c *scene) onlyBegan(want ...string) {
	c.t.Helper()
	got := c.takenOut()
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		c.t.Errorf("nodes were taken out (-want +got):\n%s", diff)
	}
}

// work does the work on a node, once it is waited for.
func (c *scene) work(m *Maintenance, node string) {
	c.t.Helper()
	m.AwaitNode(node, slipwayv1alpha1.NodeWorking, slipwayv1alpha1.ReasonWaitingForWork)
	c.done(node)
}

// notReady: nobody simulates these nodes, so that they are Ready when the test says so.
func notReady(c *scene) {
	c.nodes = c.env.Bystanders(c.t, c.group, 2)
	slices.Sort(c.nodes)
	m := c.maintain(somebody)
	first := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: c.nodes[0]}}
	m.AwaitNode(first.Name, slipwayv1alpha1.NodeWorking, slipwayv1alpha1.ReasonWaitingForWork)
	c.isReady(first, corev1.ConditionFalse)
	c.done(first.Name)
	m.AwaitNode(first.Name, slipwayv1alpha1.NodeUnhealthy, slipwayv1alpha1.ReasonNodeNotReady)
	c.onlyBegan(c.nodes[0])
	c.isReady(first, corev1.ConditionTrue)
	c.work(m, c.nodes[1])
	m.AwaitCompleted()
	m.Delete()
}

// daemonUnready: a pod of one team's does not become Ready on a node that is back, until
// somebody accepts the node as it is.
func daemonUnready(c *scene) {
	c.fleet(nil, nil)
	c.daemons()
	node := c.nodes[0]
	c.isReady(c.daemonOn(node), corev1.ConditionFalse)
	m := c.maintain(somebody)
	c.work(m, node)
	m.Await("says what is not ready, and what lets it pass", func(o *slipwayv1alpha1.NodeMaintenance) bool {
		return slices.ContainsFunc(o.Status.NodeStatuses, func(n slipwayv1alpha1.MaintenanceNodeStatus) bool {
			return n.Name == node && n.Phase == slipwayv1alpha1.NodeUnhealthy && n.Reason == slipwayv1alpha1.ReasonDaemonSetsUnready &&
				strings.Contains(n.Message, c.group+"-daemon") && strings.Contains(n.Message, "kubectl slipway done "+node+" --accept-unhealthy")
		})
	})
	c.onlyBegan(node)
	c.saysDone(operator, node, 1, "the node is not healthy (DaemonSetPodsNotReady)", "--accept-unhealthy")
	c.accepts(viewer, node, 1, `"`+viewer+`" cannot patch resource "lifecycleevents"`)
	c.accepts(operator, node, 0, "node/"+node+": it counts as returned, in spite of DaemonSetPodsNotReady\n")
	c.work(m, c.nodes[1])
	m.AwaitCompleted()
	m.Delete()
}

// daemonOn is the pod of the scene's DaemonSet on a node.
func (c *scene) daemonOn(node string) *corev1.Pod {
	c.t.Helper()
	return harness.Await(c.t, c.env, "a pod of the DaemonSet is on "+node, &corev1.PodList{},
		func(pod *corev1.Pod) bool { return pod.Spec.NodeName == node && pod.Status.Phase == corev1.PodRunning },
		client.InNamespace(metav1.NamespaceDefault), client.MatchingLabels{"app": c.group + "-daemon"})
}

// podsDoNotRun: one that no node takes, and one that is not Ready where it is.
func podsDoNotRun(c *scene) {
	c.fleet(nil, nil)
	m := c.maintain(somebody, func(s *slipwayv1alpha1.NodeMaintenanceSpec) { s.Rollout.MaxPendingPods = new(int32(1)) })
	m.AwaitNode(c.nodes[0], slipwayv1alpha1.NodeWorking, slipwayv1alpha1.ReasonWaitingForWork)
	waits := harness.PodSpec(c.group, "nowhere", harness.PodOptions{})
	roomless := &corev1.Pod{ObjectMeta: waits.ObjectMeta, Spec: waits.Spec}
	roomless.Namespace, roomless.Name = metav1.NamespaceDefault, c.group+"-roomless"
	c.must(c.env.Client.Create(c.t.Context(), roomless))
	c.t.Cleanup(func() { c.env.DeleteQuietly(roomless) })
	failing := c.pod(c.nodes[1])
	harness.Await(c.t, c.env, "the pod is Ready", &corev1.PodList{}, podReady, harness.Named(failing.Name))
	c.isReady(failing, corev1.ConditionFalse)
	c.done(c.nodes[0])

	o := m.AwaitCondition(slipwayv1alpha1.MaintenanceProgressing, metav1.ConditionFalse, slipwayv1alpha1.ReasonPendingPods)
	c.says(o, "default/"+roomless.Name)
	c.onlyBegan(c.nodes[0])
	c.env.Delete(c.t, roomless)
	m.Await("names the other pod alone", func(o *slipwayv1alpha1.NodeMaintenance) bool {
		return strings.Contains(o.Status.Message, "default/"+failing.Name) && !strings.Contains(o.Status.Message, roomless.Name)
	})
	c.onlyBegan(c.nodes[0])
	c.isReady(failing, corev1.ConditionTrue)
	c.work(m, c.nodes[1])
	m.AwaitCompleted()
	m.Delete()
}

func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}
