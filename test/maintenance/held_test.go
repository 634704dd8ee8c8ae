// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/node/hold"
	"github.com/slipway-k8s/slipway/test/auditcheck"
	"github.com/slipway-k8s/slipway/test/auditlog"
	"github.com/slipway-k8s/slipway/test/harness"
)

// TestAMaintenanceLeavesANodeThatAUserHolds: one person has drained a node to work on its machine. Another person starts a
// maintenance with a reboot Job. The Job never runs on that node, and the node stays cordoned, until the first person
// returns it.
func TestAMaintenanceLeavesANodeThatAUserHolds(t *testing.T) {
	t.Parallel()
	env := harness.Own(t, options)
	env.WithoutAgents(t)
	env.Guards(t)
	env.KeepAllPromises(t, func() auditcheck.Options { return auditcheck.Options{} })
	c := &scene{stage: &stage{env: env}, t: t, group: "held"}
	c.nodes = env.Fleet(t, c.group, make([]map[string]string, 3))
	podTemplate(t, env, "reboot", time.Millisecond)
	p := start(t, env, "")

	held := c.nodes[0]
	if drained := c.request("alice", harness.Drain, held, ""); drained.Status.ClaimStatus != lifecyclev1alpha1.Succeeded {
		t.Fatalf("the drain of alice has ended as %s", drained.Status.ClaimStatus)
	}
	m := c.maintain(job("reboot"))
	n := m.AwaitNode(held, slipwayv1alpha1.NodeHeld, lifecyclev1alpha1.ReasonHeldByAnother)
	for _, says := range []string{`user "alice"`, `"work of alice"`, "since 20"} {
		if !strings.Contains(n.Message, says) {
			t.Errorf("the maintenance does not say %q of the node: %s", says, n.Message)
		}
	}
	m.Await("has returned the other nodes", func(o *slipwayv1alpha1.NodeMaintenance) bool { return o.Status.Nodes.Returned == 2 })

	// Nobody else returns it: not another user, and not one who may not release the holds of others.
	if back := c.request("carol", harness.Return, held, ""); finishedFor(back) != lifecyclev1alpha1.ReasonHeldByOthers {
		t.Errorf("carol's return has ended for %s: %s", finishedFor(back), harness.Finished(back).Message)
	}
	refused := env.Shell(t, `kubectl create --as=carol -f - 2>&1 <<'END' || true
`+c.event("carol", harness.Return, held, "All")+"\nEND")
	if !strings.Contains(refused, "needs the verb release-holds") {
		t.Errorf("carol may release the holds of others: %s", refused)
	}
	c.awaitNode(held, "is cordoned", func(n *corev1.Node) bool { return n.Spec.Unschedulable })
	jobs := env.Requests(t, func(r auditlog.Request) bool { return r.Verb == "create" && r.Resource == "jobs" })
	if len(jobs) != 2 {
		t.Errorf("%d Jobs were created, for 2 nodes: one may have run on the node that alice holds", len(jobs))
	}

	// At the end of her shift, alice hands the node over to dave. Nobody else can: the hold is not overdue.
	transfer := harness.Binary(t, "kubectl-slipway") + " hold transfer " + held
	if said := env.Shell(t, transfer+" --from alice --to carol --as carol 2>&1 || true"); !strings.Contains(said, "only alice hands this hold over") {
		t.Errorf("carol takes the hold of alice: %s", said)
	}
	env.Shell(t, transfer+" --to dave --as alice")
	c.awaitNode(held, "shows its new holder", func(n *corev1.Node) bool { return strings.HasPrefix(n.Annotations[hold.HeldBy], `user "dave"`) })
	if back := c.request("alice", harness.Return, held, ""); finishedFor(back) != lifecyclev1alpha1.ReasonHeldByOthers {
		t.Errorf("alice's return has ended for %s: %s", finishedFor(back), harness.Finished(back).Message)
	}
	if back := c.request("dave", harness.Return, held, ""); back.Status.ClaimStatus != lifecyclev1alpha1.Succeeded {
		t.Errorf("dave's return has ended for %s: %s", finishedFor(back), harness.Finished(back).Message)
	}
	m.AwaitCompleted()
	c.awaitBack(held)
	m.Delete()

	// A person who uncordons the node with kubectl is warned, and ends the hold, too.
	c.request("alice", harness.Drain, held, "")
	c.awaitNode(held, "shows its holder", func(n *corev1.Node) bool { return strings.HasPrefix(n.Annotations[hold.HeldBy], `user "alice"`) })
	const warning = `is held by user "alice" for "work of alice" since 20`
	if said := env.Shell(t, "kubectl uncordon "+held+" 2>&1"); !strings.Contains(said, "Warning: ") || !strings.Contains(said, warning) {
		t.Errorf("kubectl uncordon does not warn that the node %s: %s", warning, said)
	}
	c.awaitNode(held, "shows no holder", func(n *corev1.Node) bool { return n.Annotations[hold.HeldBy] == "" })
	harness.AwaitNone[*slipwayv1alpha1.NodeHold](t, env, &slipwayv1alpha1.NodeHoldList{})
	c.request("dave", harness.Return, held, "") // removes the record of the cordon
	p.Stop()
}

// request creates an event as a user, and waits for its end.
func (c *scene) request(user, transition, node, release string) *lifecyclev1alpha1.LifecycleEvent {
	c.t.Helper()
	c.create(user, transition, node, release)
	return c.env.Outcome(c.t, user+"-"+transition)
}

// create creates an event as a user.
func (c *scene) create(user, transition, node, release string) {
	c.t.Helper()
	c.env.Shell(c.t, fmt.Sprintf(`
kubectl create clusterrolebinding %[1]s --clusterrole=slipway-operator --user=%[1]s --dry-run=client -o yaml | kubectl apply -f -
kubectl create --as=%[1]s -f - <<'END'
%[2]s
END`, user, c.event(user, transition, node, release)))
}

func (c *scene) event(user, transition, node, release string) string {
	parameters := ""
	if release != "" {
		parameters = ", parameters: {release: " + release + "}"
	}
	return fmt.Sprintf(`apiVersion: lifecycle.k8s.io/v1alpha1
kind: LifecycleEvent
metadata: {name: %[1]s-%[2]s, finalizers: [slipway.test/kept]}
spec: {transitionName: %[2]s, bindingNode: %[3]s, reason: work of %[1]s%[4]s}`, user, transition, node, parameters)
}

func finishedFor(event *lifecyclev1alpha1.LifecycleEvent) string {
	return harness.Finished(event).Reason
}
