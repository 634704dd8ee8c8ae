// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/auditcheck"
	"github.com/slipway-k8s/slipway/test/auditlog"
	"github.com/slipway-k8s/slipway/test/harness"
)

// TestAFreezeStopsNewDisruptions: a budget holds a drain in progress. Then somebody freezes the nodes, and the budget opens: the
// drain evicts nothing. Another drain waits at its gate, and a maintenance starts no Job. All continue when the Freeze
// ends.
func TestAFreezeStopsNewDisruptions(t *testing.T) {
	t.Parallel()
	env := harness.Own(t, options)
	env.WithoutAgents(t)
	env.Guards(t)
	env.KeepAllPromises(t, func() auditcheck.Options { return auditcheck.Options{} })
	c := &scene{stage: &stage{env: env}, t: t, group: "freeze"}
	c.nodes = env.Fleet(t, c.group, make([]map[string]string, 3))
	podTemplate(t, env, "reboot", time.Millisecond)
	env.Deployment(t, "web", c.group, 3, harness.PodOptions{})
	begun := c.podsOf("web")[0].Spec.NodeName
	others := slices.DeleteFunc(slices.Clone(c.nodes), func(node string) bool { return node == begun })
	late := others[0]
	budget := env.Budget(t, "web", 0)
	p := start(t, env, "")

	c.create("alice", harness.Drain, begun, "")
	const drain = "alice-" + harness.Drain
	blocked := func(reason string) func(*lifecyclev1alpha1.LifecycleEvent) bool {
		return func(e *lifecyclev1alpha1.LifecycleEvent) bool {
			return slices.ContainsFunc(e.Status.Blockers, func(b lifecyclev1alpha1.Blocker) bool { return b.Reason == reason })
		}
	}
	env.AwaitEvent(t, drain, "is blocked by the budget", func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		return blocked("BudgetExhausted")(e) || blocked("BudgetImpossible")(e)
	})

	freeze := &slipwayv1alpha1.Freeze{}
	freeze.Name, freeze.Spec.Reason = "audit", "audit"
	env.Create(t, freeze)
	env.AwaitEvent(t, drain, "is frozen", blocked("Frozen"))
	open := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"maxUnavailable":3}}`))
	if err := env.Client.Patch(t.Context(), budget, open); err != nil {
		t.Fatal(err)
	}
	c.create("bob", harness.Drain, late, "")
	env.AwaitCondition(t, "bob-"+harness.Drain, lifecyclev1alpha1.ConditionGuardsPassed, lifecyclev1alpha1.ReasonFrozen, `Freeze "audit": audit`)
	m := c.maintain(job("reboot"))
	m.Await("waits for the end of the freeze", func(o *slipwayv1alpha1.NodeMaintenance) bool {
		return slices.ContainsFunc(o.Status.NodeStatuses, func(n slipwayv1alpha1.MaintenanceNodeStatus) bool {
			return n.Phase == slipwayv1alpha1.NodeHeld && n.Reason == lifecyclev1alpha1.ReasonFrozen
		})
	})
	evicted := env.Requests(t, func(r auditlog.Request) bool {
		return r.Resource == "pods" && r.Subresource == "eviction" && r.Code < 300
	})
	if len(evicted) > 0 {
		t.Errorf("%d pods were evicted during the freeze", len(evicted))
	}

	// The controller deletes it at its end.
	soon := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"until":"`+time.Now().Add(time.Second).UTC().Format(time.RFC3339)+`"}}`))
	if err := env.Client.Patch(t.Context(), freeze, soon); err != nil {
		t.Fatal(err)
	}
	harness.AwaitNone[*slipwayv1alpha1.Freeze](t, env, &slipwayv1alpha1.FreezeList{})
	for _, event := range []string{drain, "bob-" + harness.Drain} {
		if e := env.Outcome(t, event); e.Status.ClaimStatus != lifecyclev1alpha1.Succeeded {
			t.Errorf("%s has ended as %s", event, e.Status.ClaimStatus)
		}
	}
	c.request("alice", harness.Return, begun, "")
	c.request("bob", harness.Return, late, "")
	m.AwaitCompleted()
	m.Delete()
	p.Stop()
}
