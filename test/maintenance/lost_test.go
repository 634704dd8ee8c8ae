// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/nodelease"
	"github.com/slipway-k8s/slipway/test/auditcheck"
	"github.com/slipway-k8s/slipway/test/harness"
)

// TestALostLeaseStopsWhatComesNext: while no controller is there, somebody breaks Slipway's
// leases of two nodes, and another tool takes them and goes to work: one node is drained, and
// its hook is opened meanwhile; of the other, the Job ends meanwhile. The controller that
// comes begins nothing on them and returns none, until it has the leases again. That it does
// not, the audit log tells, with whatever it did in its first moments.
func TestALostLeaseStopsWhatComesNext(t *testing.T) {
	t.Parallel()
	env := harness.Own(t, harness.Options{})
	env.WithoutAgents(t)
	takesLeases(t, env)
	s := &stage{env: env}
	env.KeepAllPromises(t, func() auditcheck.Options { return auditcheck.Options{Leases: true} })
	podTemplate(t, env, slow, harness.Forever)
	c := s.scene(t, 2)
	drained, worked := c.nodes[0], c.nodes[1]
	for _, node := range c.nodes {
		c.pod(node)
	}
	p := start(t, env, "", "--node-leases")
	other := newTool(c, rand.New(rand.NewPCG(0, 0)))
	m := c.maintain(job(slow), hook("backup", slipwayv1alpha1.AfterDrain), rolling(2))
	m.AwaitNode(drained, slipwayv1alpha1.NodeHeld, slipwayv1alpha1.ReasonHookWaiting)
	m.AwaitNode(worked, slipwayv1alpha1.NodeHeld, slipwayv1alpha1.ReasonHookWaiting)
	c.open(worked, "backup")
	work := awaitJob(t, env, worked)
	m.AwaitNode(worked, slipwayv1alpha1.NodeWorking, slipwayv1alpha1.ReasonJobRunning)
	p.Stop()

	for _, node := range c.nodes {
		c.must(other.leases.Release(t.Context(), node, nodelease.Slipway)) // lease release --force
		other.acquire(t, node)
	}
	c.open(drained, "backup")
	endJob(t, env, work, true)

	p = start(t, env, "", "--node-leases")
	for _, node := range c.nodes {
		m.AwaitNode(node, slipwayv1alpha1.NodeHeld, lifecyclev1alpha1.ReasonLeaseLost)
		c.awaitCordoned(node)
	}
	c.must(other.leases.Release(t.Context(), worked, toolName))
	c.awaitBack(worked)
	c.must(other.leases.Release(t.Context(), drained, toolName))
	endJob(t, env, awaitJob(t, env, drained), true)
	m.AwaitCompleted()
	c.awaitBack(drained)
	m.Delete()
	pausedAtTheDoor(s.scene(t, 1), other)
	p.Stop()
}

// pausedAtTheDoor: a node that waits for somebody's lease does not begin when it gets it, if
// its maintenance is paused by then.
func pausedAtTheDoor(c *scene, other *tool) {
	node := c.nodes[0]
	other.acquire(c.t, node)
	m := c.maintain(nobody)
	m.AwaitNode(node, slipwayv1alpha1.NodeHeld, lifecyclev1alpha1.ReasonHeldByAnother)
	m.Change(paused(true))
	harness.AwaitNone[*lifecyclev1alpha1.LifecycleEvent](c.t, c.env, &lifecyclev1alpha1.LifecycleEventList{}, harness.Named(drainOf(node)))
	c.must(other.leases.Release(c.t.Context(), node, toolName))
	c.others()
	if n := c.awaitNode(node, "is there", func(*corev1.Node) bool { return true }); n.Spec.Unschedulable {
		c.t.Error("the node is cordoned while its maintenance is paused")
	}
	m.Change(paused(false))
	m.AwaitCompleted()
	c.awaitBack(node)
	m.Delete()
}
