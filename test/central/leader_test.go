// SPDX-License-Identifier: Apache-2.0

package central

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
	"github.com/slipway-k8s/slipway/test/harness"
)

var points = []string{
	faultpoint.Claimed, faultpoint.FinalizerSet, faultpoint.StartCalled, faultpoint.ConditionPatched,
	faultpoint.Evicting, faultpoint.EndAnswered, faultpoint.TerminalWritten, faultpoint.Deleted,
}

// central is a cluster in which the controller may do the agents' work.
func central(t *testing.T) *harness.Env {
	t.Helper()
	env := harness.Own(t, harness.Options{})
	env.Kubectl(t, "apply", "-f", harness.File(t, "config", "rbac", "central"))
	return env
}

// TestADrainOutlivesItsLeader kills the leader at every fault point of a central drain;
// another controller has been waiting, and finishes it. One after another: of one
// cluster's controllers, one works.
func TestADrainOutlivesItsLeader(t *testing.T) {
	t.Parallel()
	env := central(t)
	for _, point := range points {
		t.Run(point, func(t *testing.T) { killLeaderAt(t, env, point) })
	}
}

func killLeaderAt(t *testing.T, env *harness.Env, point string) {
	node := env.Node(t, "leader")
	node.Expect(harness.CordonLeft, notReturned)
	app := "of-" + node.Name
	pods := []*corev1.Pod{node.Pod(app, quick()), node.Pod(app, quick())}
	h := node.Record()

	leader := env.Controller(t, "leader", point, centrally)
	leader.AwaitLeading()
	successor := env.Controller(t, "successor", "", centrally)
	successor.AwaitStandby()
	event := node.Event(node.EventName("drain"), harness.Drain)
	leader.AwaitFaultPoint(point)
	leader.Kill()

	drained(t, h, event.Name)
	node.AwaitPodsGone(client.MatchingLabels{"app": app})
	if evictions := node.CentralEvictions(pods...); len(evictions) < len(pods) {
		t.Errorf("evictions by controllers: %v; want one of each of %d pods at least", evictions, len(pods))
	}
	successor.Stop() // it gives the lease up: the next two need not wait for it
}

// TestALeaderThatIsEndedIsReplacedAtOnce is an update of the controller in the middle
// of drains that share a budget.
func TestALeaderThatIsEndedIsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	env := central(t)
	leader := env.Controller(t, "leader", "", centrally)
	leader.AwaitLeading()
	env.Controller(t, "successor", "", centrally).AwaitStandby()

	const group = "update"
	nodes := []*harness.Node{env.Node(t, group), env.Node(t, group), env.Node(t, group), env.Node(t, group)}
	for _, node := range nodes[:3] {
		node.Expect(harness.CordonLeft, notReturned)
	}
	env.Deployment(t, "web", group, 8, quick())
	env.Budget(t, "web", 1)
	for _, node := range nodes[:3] {
		node.Event(node.EventName("drain"), harness.Drain, harness.Kept)
	}
	first := nodes[0].EventName("drain")
	env.AwaitEvent(t, first, "is driven by the controller", func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		by := e.Status.ClaimedBy
		return e.Status.State != "" && by != nil && by.Kind == lifecyclev1alpha1.Controller && by.Identity == "slipway-controller"
	})
	leader.Stop()
	for _, node := range nodes[:3] {
		if phase, reason, message := outcome(t, env, node.EventName("drain")); phase != lifecyclev1alpha1.Succeeded {
			t.Errorf("the drain of %s ended as %s, %s: %s", node.Name, phase, reason, message)
		}
	}
	env.AwaitEventGone(t, first)
}
