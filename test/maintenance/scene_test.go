// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/auditcheck"
	"github.com/slipway-k8s/slipway/test/harness"
)

// stage is the cluster while one controller works, with tests side by side on it.
type stage struct {
	env *harness.Env
}

// newStage is on the cluster that tests share.
func newStage(t *testing.T) *stage {
	t.Helper()
	return newStageOn(t, harness.Shared(t))
}

// newStageOn has the audit log judged when the test ends.
func newStageOn(t *testing.T, env *harness.Env) *stage {
	t.Helper()
	env.WithoutAgents(t)
	s := &stage{env: env}
	s.env.KeepAllPromises(t, func() auditcheck.Options {
		return auditcheck.Options{}
	})
	return s
}

// scene is a test with nodes of its own.
type scene struct {
	*stage
	t     *testing.T
	group string
	nodes []string

	budget *policyv1.PodDisruptionBudget // that holds pods
	pods   []*corev1.Pod                 // that are held
}

var scenes atomic.Int32

// scene creates as many nodes.
func (s *stage) scene(t *testing.T, nodes int) *scene {
	t.Helper()
	c := &scene{stage: s, t: t, group: fmt.Sprintf("scene-%d", scenes.Add(1))}
	c.nodes = s.env.Fleet(t, c.group, make([]map[string]string, nodes))
	return c
}

func (c *scene) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// maintain creates a maintenance of the nodes of the scene, one at a time.
func (c *scene) maintain(changes ...change) *Maintenance { return c.maintainAs("", changes...) }

// maintainAs is for those that have several.
func (c *scene) maintainAs(name string, changes ...change) *Maintenance {
	c.t.Helper()
	return maintain(c.t, c.env, strings.Trim(c.group+"-"+name, "-"), c.group, slices.Concat([]change{rolling(1)}, changes)...)
}

// pod creates a pod on a node that goes within a second once it is evicted.
func (c *scene) pod(node string) *corev1.Pod {
	c.t.Helper()
	template := harness.PodSpec(c.group, "", harness.PodOptions{Gone: time.Second})
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.GenerateName = metav1.NamespaceDefault, c.group+"-"
	pod.Spec.NodeSelector, pod.Spec.NodeName = nil, node
	c.must(c.env.Client.Create(c.t.Context(), pod))
	c.t.Cleanup(func() { c.env.DeleteQuietly(pod) })
	return pod
}

// held creates a pod on a node that no eviction gets past, until [scene.letGo].
func (c *scene) held(node string) {
	c.t.Helper()
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: c.group, Namespace: metav1.NamespaceDefault}}
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": c.group}}
	b.Spec.MinAvailable = new(intstr.FromInt32(1))
	c.must(c.env.Client.Create(c.t.Context(), b))
	c.t.Cleanup(func() { c.env.DeleteQuietly(b) })
	c.budget, c.pods = b, append(c.pods, c.pod(node))
	harness.Await(c.t, c.env, "budget "+b.Name+" counts its pod", &policyv1.PodDisruptionBudgetList{},
		func(b *policyv1.PodDisruptionBudget) bool { return b.Status.CurrentHealthy == 1 }, harness.Named(b.Name))
}

// awaitNode waits until a Node is as wanted.
func (c *scene) awaitNode(node, what string, wanted func(*corev1.Node) bool) *corev1.Node {
	c.t.Helper()
	return harness.Await(c.t, c.env, "node "+node+" "+what, &corev1.NodeList{}, wanted, harness.Named(node))
}

func (c *scene) awaitBack(node string) {
	c.t.Helper()
	c.awaitNode(node, "takes pods", func(n *corev1.Node) bool { return !n.Spec.Unschedulable })
}

func (c *scene) awaitCordoned(node string) {
	c.t.Helper()
	c.awaitNode(node, "is cordoned", func(n *corev1.Node) bool { return n.Spec.Unschedulable })
}

// drainOf is the name of the event that takes a node out.
func drainOf(node string) string { return "maintenance-" + node }

// cancel deletes the event of a node's drain, as somebody does who wants no drain.
func (c *scene) cancel(node string) {
	c.t.Helper()
	c.env.Delete(c.t, &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Name: drainOf(node)}})
}

// say annotates the event of a node's drain.
func (c *scene) say(node, annotation, value string) {
	c.t.Helper()
	c.must(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		var e lifecyclev1alpha1.LifecycleEvent
		if err := c.env.Client.Get(c.t.Context(), client.ObjectKey{Name: drainOf(node)}, &e); err != nil {
			return err
		}
		if e.Annotations == nil {
			e.Annotations = map[string]string{}
		}
		e.Annotations[annotation] = value
		return c.env.Client.Update(c.t.Context(), &e)
	}))
}

// done says that somebody has done the work.
func (c *scene) done(node string) { c.say(node, slipwayv1alpha1.WorkDoneAnnotation, "somebody") }

// open opens a hook.
func (c *scene) open(node, hook string) {
	c.say(node, slipwayv1alpha1.HookAnnotationPrefix+hook, slipwayv1alpha1.HookOpen)
}

// cordon is somebody else's.
func (c *scene) cordon(node string, off bool) {
	c.t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	c.must(c.env.Client.Patch(c.t.Context(), n, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, off))))
}

// says checks that a maintenance says something in its conditions.
func (c *scene) says(o *slipwayv1alpha1.NodeMaintenance, text string) {
	c.t.Helper()
	for _, condition := range o.Status.Conditions {
		if strings.Contains(condition.Message, text) {
			return
		}
	}
	c.t.Errorf("no condition says %q: %+v", text, o.Status.Conditions)
}
