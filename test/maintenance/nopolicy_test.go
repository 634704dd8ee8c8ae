// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"testing"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/auditcheck"
	"github.com/slipway-k8s/slipway/test/harness"
)

// TestLeasesAreWaitedForWithoutThePolicy: servers before 1.36 have no policy that sets the gate
// on new events. Those of maintenances have it all the same.
func TestLeasesAreWaitedForWithoutThePolicy(t *testing.T) {
	t.Parallel()
	env := harness.Own(t, options)
	env.WithoutAgents(t)
	env.Kubectl(t, "apply", "--server-side", "-f", harness.File(t, "config", "rbac", "leases"))
	s := &stage{env: env}
	env.KeepAllPromises(t, func() auditcheck.Options {
		return auditcheck.Options{Leases: true, Tools: []string{toolName}}
	})
	c := s.scene(t, 2)
	other := newTool(c, nil)
	other.acquire(t, c.nodes[0])
	p := start(t, env, "", "--node-leases")
	m := c.maintain(nobody, rolling(2))
	m.AwaitNode(c.nodes[0], slipwayv1alpha1.NodeHeld, lifecyclev1alpha1.ReasonHeldByAnother)
	c.awaitBack(c.nodes[0])
	m.Await("has one node done with, and one held", func(o *slipwayv1alpha1.NodeMaintenance) bool {
		return o.Status.Nodes.Returned == 1 && o.Status.Nodes.Out == 1
	})
	other.release(t, c.nodes[0])
	m.AwaitCompleted()
	for _, node := range c.nodes {
		c.awaitBack(node)
	}
	m.Delete()
	p.Stop()
}
