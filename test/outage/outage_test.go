// SPDX-License-Identifier: Apache-2.0

package outage

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
	"github.com/slipway-k8s/slipway/internal/platform/telemetry"
	"github.com/slipway-k8s/slipway/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// drain is one that is in the middle when the API server goes. Each is on a node of
// its own, with a pod that ends at once and one that a budget holds.
type drain struct {
	name     string
	separate bool   // the driver is a process of its own
	point    string // where it stands when the API server goes; empty: it waits for the budget
}

var drains = []drain{
	{name: "that waits for a budget"},
	{name: "that waits for a budget, of a driver by itself", separate: true},
	{name: "that has just been claimed", point: faultpoint.Claimed},
	{name: "whose driver is about to be called", point: faultpoint.FinalizerSet},
	{name: "whose driver is about to be called, of a driver by itself", separate: true, point: faultpoint.FinalizerSet},
	{name: "whose driver has begun", point: faultpoint.StartCalled},
	{name: "that evicts", point: faultpoint.Evicting},
	{name: "that is done", point: faultpoint.EndAnswered},
	{name: "that has succeeded", point: faultpoint.TerminalWritten},
}

func TestADrainOutlives30sWithoutTheAPIServer(t *testing.T) {
	t.Parallel()
	env := harness.Own(t, harness.Options{})
	var all []*running
	for _, d := range drains {
		all = append(all, d.start(t, env))
	}
	for _, r := range all {
		r.awaitMiddle(t)
	}

	env.Outage(t, "kube-apiserver", 30*time.Second, func() {
		for _, r := range all {
			r.agent.Release() // it goes on, and finds nobody
		}
	})
	back := time.Now()
	for _, r := range all {
		r.letGo(t)
	}

	for _, r := range all {
		t.Run("a drain "+r.name, func(t *testing.T) {
			r.succeeds(t)
			t.Logf("it succeeded within %s of the API server's return", time.Since(back).Round(time.Second))
		})
	}
	failures := coreEvents(t, env, func(e corev1.Event) bool {
		// That a budget holds a pod for 30 s is told, and is what most of them wait for.
		return strings.HasPrefix(e.Reason, "LifecycleEvent") && e.Type != corev1.EventTypeNormal &&
			e.Reason != telemetry.ReasonBlocked
	})
	for _, e := range failures {
		t.Errorf("reported for %s: %s: %s", e.InvolvedObject.Name, e.Reason, e.Message)
	}
}

// running is a drain with what takes part in it.
type running struct {
	drain
	env   *harness.Env
	node  *harness.Node
	agent *harness.Process
	held  *harness.HeldPod
	event string
}

func (d drain) start(t *testing.T, env *harness.Env) *running {
	t.Helper()
	node := env.Node(t, "outage")
	node.Expect(harness.CordonLeft, "the drain succeeds, and the node is not returned after it")
	r := &running{drain: d, env: env, node: node, held: node.HeldPod("held-" + node.Name), event: node.EventName("drain")}
	node.Pod("free-"+node.Name, harness.PodOptions{Gone: time.Second})
	// They stay when they have ended: a watch that breaks with the server misses nothing.
	flags := []string{"--finished-event-ttl=1h"}
	if d.separate {
		node.Driver("")
		flags = append(flags, "--builtin-drivers=")
	}
	r.agent = node.Agent(d.point, flags...)
	node.Event(r.event, harness.Drain)
	return r
}

func (r *running) awaitMiddle(t *testing.T) {
	t.Helper()
	switch r.point {
	case "":
		r.held.AwaitHeld(t, r.event)
	case faultpoint.EndAnswered, faultpoint.TerminalWritten:
		r.held.AwaitHeld(t, r.event)
		r.letGo(t)
		r.agent.AwaitFaultPoint(r.point)
	default:
		r.agent.AwaitFaultPoint(r.point)
	}
}

// letGo lets the budget go, if it is there still.
func (r *running) letGo(t *testing.T) {
	t.Helper()
	if r.held != nil {
		r.held.LetGo(t)
		r.held = nil
	}
}

func (r *running) succeeds(t *testing.T) {
	t.Helper()
	ended := r.env.AwaitEvent(t, r.event, "has ended and is not held any more", func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		return e.Status.ClaimStatus.Terminal() && !slices.Contains(e.Finalizers, lifecyclev1alpha1.ClaimProtectionFinalizer)
	})
	if ended.Status.ClaimStatus != lifecyclev1alpha1.Succeeded {
		t.Errorf("it ended as %s: %s", ended.Status.ClaimStatus, harness.Finished(ended).Message)
	}
	r.node.AwaitPodsGone(map[string]string{"app": "free-" + r.node.Name})
	r.node.AwaitPodsGone(map[string]string{"app": "held-" + r.node.Name})
	r.node.Await("is drained", func(n *corev1.Node) bool {
		return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == lifecyclev1alpha1.NodeConditionLifecycleTransition && c.Reason == "drain-complete"
		})
	})
}
