// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/nodelease"
	"github.com/slipway-k8s/slipway/test/auditcheck"
	"github.com/slipway-k8s/slipway/test/auditlog"
	"github.com/slipway-k8s/slipway/test/harness"
)

// turns is how often somebody else works on a node.
const turns = 12

// TestNodesAreShared has two maintenances over some of the same nodes, one with work and one
// without, while another tool takes nodes in between, in an order that the seed gives. All
// come to an end; and that at no moment two holders worked on a node, the audit log tells.
func TestNodesAreShared(t *testing.T) {
	t.Parallel()
	env := harness.Own(t, harness.Options{})
	env.WithoutAgents(t)
	takesLeases(t, env)
	s := &stage{env: env}
	env.KeepAllPromises(t, func() auditcheck.Options {
		return auditcheck.Options{Leases: true, Tools: []string{toolName}}
	})
	podTemplate(t, env, slow, harness.Forever)
	c := &scene{stage: s, t: t, group: "shared"}
	c.nodes = env.Fleet(t, c.group, []map[string]string{firstHalf, firstHalf, bothHalves, bothHalves, lastHalf, lastHalf})
	for _, node := range c.nodes {
		c.pod(node)
	}
	p := start(t, env, "", "--node-leases")
	p.AwaitLog("Starting workers")

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	other := newTool(c, rand.New(rand.NewPCG(seed, 0)))
	// One that both want: at least once, they wait for the other.
	contended := c.nodes[2]
	other.acquire(t, contended)
	other.cordon(t, contended, true)
	last := c.maintainAs("last", nobody, rolling(2), selecting("last"))
	if !waitsOrIsOver(last, contended) {
		t.Errorf("maintenance %s was over before node %s was given back", last.Name, contended)
	}
	first := c.maintainAs("first", job(slow), rolling(2), selecting("first"))
	other.release(t, contended)

	wantedBy := map[string][]*Maintenance{}
	for i, node := range c.nodes {
		if i < 4 {
			wantedBy[node] = append(wantedBy[node], first)
		}
		if i >= 2 {
			wantedBy[node] = append(wantedBy[node], last)
		}
	}
	t.Run("all", func(t *testing.T) {
		for _, node := range c.nodes[:4] {
			t.Run("work on "+node, func(t *testing.T) {
				t.Parallel()
				job := awaitJob(t, env, node)
				other.refused(t, node)
				endJob(t, env, job, true)
			})
		}
		t.Run("another tool", func(t *testing.T) {
			t.Parallel()
			other.takeTurns(t, wantedBy)
		})
	})
	for _, m := range []*Maintenance{first, last} {
		if n := m.AwaitCompleted().Status.Nodes; n.Selected != 4 || n.Returned != 4 {
			t.Errorf("maintenance %s has ended with %+v", m.Name, n)
		}
	}
	for _, node := range c.nodes {
		c.awaitNode(node, "is back, and nobody's", func(n *corev1.Node) bool {
			_, leased := n.Annotations[nodelease.Annotation]
			return !n.Spec.Unschedulable && !leased
		})
	}
	harness.AwaitNone[*corev1.Pod](t, env, &corev1.PodList{}, client.MatchingLabels{"app": c.group})
	// What the log is held to, it has: each turn is a cordon and a return.
	if work := env.Requests(t, func(r auditlog.Request) bool {
		return r.Impersonated == toolName && r.Resource == "nodes" && r.Verb == "patch"
	}); len(work) != 2*(turns+1) {
		t.Errorf("the audit log has %d patches of Nodes by %s in %d turns", len(work), toolName, turns+1)
	}
	first.Delete()
	last.Delete()
	p.Stop()
}

const halfLabel = "slipway.test/half-"

var (
	firstHalf  = map[string]string{halfLabel + "first": ""}
	lastHalf   = map[string]string{halfLabel + "last": ""}
	bothHalves = map[string]string{halfLabel + "first": "", halfLabel + "last": ""}
)

// selecting selects the nodes of a half.
func selecting(half string) change {
	return func(s *slipwayv1alpha1.NodeMaintenanceSpec) {
		s.NodeSelector.NodeSelectorTerms[0].MatchExpressions[0] = corev1.NodeSelectorRequirement{
			Key: halfLabel + half, Operator: corev1.NodeSelectorOpExists,
		}
	}
}
