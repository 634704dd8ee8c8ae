// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/auditcheck"
	"github.com/slipway-k8s/slipway/test/auditlog"
	"github.com/slipway-k8s/slipway/test/harness"
)

// TestDrainsStayWithinTwoOverlappingBudgets has users drain all nodes at once, under one budget for all nodes and one for each
// zone, while the controller is killed. Whoever waits is told for which budget; when a node returns, the next one leaves.
func TestDrainsStayWithinTwoOverlappingBudgets(t *testing.T) {
	t.Parallel()
	env := harness.Own(t, options)
	env.WithoutAgents(t)
	env.Guards(t)
	env.KeepAllPromises(t, func() auditcheck.Options { return auditcheck.Options{} })
	c := &scene{stage: &stage{env: env}, t: t, group: "budgets"}
	zones := []string{"a", "a", "b", "b", "c"}
	var labels []map[string]string
	for _, zone := range zones {
		labels = append(labels, map[string]string{"zone": zone})
	}
	c.nodes = env.Fleet(t, c.group, labels)
	zoneOf := map[string]string{}
	for i, node := range c.nodes {
		zoneOf[node] = zones[i]
	}
	env.KubectlWith(t, `
apiVersion: slipway.dev/v1alpha1
kind: NodeAvailabilityBudget
metadata: {name: all}
spec: {selector: {matchExpressions: [{key: zone, operator: Exists}]}, minAvailable: 60%}
---
apiVersion: slipway.dev/v1alpha1
kind: NodeAvailabilityBudget
metadata: {name: zones}
spec: {selector: {matchExpressions: [{key: zone, operator: Exists}]}, maxUnavailable: 1, topologyKey: zone}
`, "create", "-f", "-")
	p := start(t, env, "")

	drains := func(user int) { c.create(userName(user), harness.Drain, c.nodes[user], "") }
	waits := func(user int, budget string) {
		env.AwaitCondition(t, userName(user)+"-"+harness.Drain, lifecyclev1alpha1.ConditionGuardsPassed, lifecyclev1alpha1.ReasonNodeAvailabilityBudget,
			fmt.Sprintf("NodeAvailabilityBudget %q allows at most", budget), `(held by user "`)
	}
	c.request("u0", harness.Drain, c.nodes[0], "")
	drains(1)
	waits(1, "zones")
	c.request("u2", harness.Drain, c.nodes[2], "")
	drains(3)
	drains(4)
	waits(3, "all")
	waits(4, "all")
	tool := harness.Binary(t, "kubectl-slipway")
	for command, says := range map[string]string{
		tool + " budgets": "waiting: " + c.nodes[3] + ", for LifecycleEvent " + userName(3) + "-" + harness.Drain + ", requested by " + userName(3),
		tool + " plan " + c.nodes[1] + " 2>&1 || true": "Warning: a drain of node " + c.nodes[1] + ` would wait now: NodeAvailabilityBudget "all" allows at most 2 of 5 nodes out of service`,
	} {
		if said := env.Shell(t, command); !strings.Contains(said, says) {
			t.Errorf("%s does not say %q, but:\n%s", command, says, said)
		}
	}
	p.Kill()
	p = start(t, env, "")
	left := map[string]bool{"u0": true, "u2": true}
	c.request("u0", harness.Return, c.nodes[0], "")
	c.request("u2", harness.Return, c.nodes[2], "")
	for range 3 {
		next := harness.Await(t, env, "the next node is held", &slipwayv1alpha1.NodeHoldList{}, func(h *slipwayv1alpha1.NodeHold) bool { return !left[h.Spec.User] })
		user := next.Spec.User
		left[user] = true
		if e := env.Outcome(t, user+"-"+harness.Drain); e.Status.ClaimStatus != lifecyclev1alpha1.Succeeded {
			t.Errorf("the drain of %s has ended as %s", user, e.Status.ClaimStatus)
		}
		c.request(user, harness.Return, next.Spec.NodeName, "")
	}
	harness.Await(t, env, "all nodes are available", &slipwayv1alpha1.NodeAvailabilityBudgetList{}, func(b *slipwayv1alpha1.NodeAvailabilityBudget) bool {
		return b.Status.Nodes == int32(len(zones)) && b.Status.Unavailable == 0 && b.Status.DisruptionsAllowed == 2
	}, harness.Named("all"))
	p.Stop()
	judgeHolds(t, env, zoneOf)
}

func userName(i int) string { return fmt.Sprintf("u%d", i) }

// judgeHolds checks by the log that never more than two nodes were held, and one of a zone.
func judgeHolds(t *testing.T, env *harness.Env, zoneOf map[string]string) {
	t.Helper()
	requests := env.Requests(t, func(r auditlog.Request) bool {
		return r.Resource == "nodeholds" && (r.Verb == "create" || r.Verb == "delete") && r.Code < 300
	})
	at := func(r auditlog.Request) time.Time {
		if r.Verb == "create" {
			return r.Ended
		}
		return r.Began
	}
	slices.SortStableFunc(requests, func(a, b auditlog.Request) int { return at(a).Compare(at(b)) })
	all, perZone, most := 0, map[string]int{}, 0
	for _, r := range requests {
		node, _, _ := strings.Cut(r.Name, ".")
		change := 1
		if r.Verb == "delete" {
			change = -1
		}
		all += change
		perZone[zoneOf[node]] += change
		most = max(most, all)
		if all > 2 || perZone[zoneOf[node]] > 1 {
			t.Errorf("%s %s at %s: %d nodes are held, %d of zone %q", r.Verb, r.Name, at(r), all, perZone[zoneOf[node]], zoneOf[node])
		}
	}
	if most != 2 {
		t.Errorf("at most %d nodes were held at a time, want 2", most)
	}
}
