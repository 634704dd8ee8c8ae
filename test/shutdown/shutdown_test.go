// SPDX-License-Identifier: Apache-2.0

package shutdown

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/test/harness"
	"github.com/slipway-k8s/slipway/test/logind"
)

// TestShutdowns has one controller for all of its parts.
func TestShutdowns(t *testing.T) {
	t.Parallel()
	g := withHosts(t, harness.Shared(t))
	g.Controller(t, "leader", "").AwaitLeading()
	for name, test := range map[string]func(*testing.T, ground){
		"a machine goes down when its pods are gone, whoever is killed": killed,
		"a machine does not wait longer than logind does":               limit,
		"a shutdown that is called off":                                 calledOff,
		"a machine that loses its power":                                powerLost,
		"a node that stays out for somebody else":                       cordonedByOthers,
		"a machine that is shut down while its node is drained":         whileDrained,
		"a shutdown that is called off, and begun again, unseen":        unseen,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, g)
		})
	}
}

// stillUp is that the machine has not gone down.
func stillUp(t *testing.T, what string, down <-chan logind.Ending) {
	t.Helper()
	select {
	case how := <-down:
		t.Fatalf("%s: the machine went down: %s", what, how)
	default:
	}
}

func killed(t *testing.T, g ground) {
	m := g.machine(t, "killed", time.Hour)
	pod := m.HeldPod("killed-" + m.Name)
	down := m.Shutdown()
	event := m.event()
	pod.AwaitHeld(t, event.Name)
	if e := event.Spec; e.SLA == nil || e.SLA.Duration > time.Hour || e.Reason != shutdown.ReasonNodeShutdown {
		t.Errorf("it asks for %+v", e)
	}
	if n := m.awaitSaid(shutdown.ReasonNodeShutdown); !n.Spec.Unschedulable {
		t.Error("new pods may be started")
	}

	m.host.Kill()
	m.agent.Kill()
	m.AwaitLocks(1) // the keeper's is the same one
	stillUp(t, "slipway-host and the agent were killed", down)
	m.startHost()
	m.host.AwaitLog("Continues with the keeper's lock")
	m.keep.Kill()
	stillUp(t, "the keeper was killed", down)
	m.startKeeper()
	m.startAgent()
	pod.AwaitHeld(t, event.Name)
	stillUp(t, "all were killed", down)

	pod.LetGo(t)
	if how := m.AwaitDown(down); how != logind.Released {
		t.Errorf("the machine went down: %s", how)
	}
	var left corev1.Pod
	if err := g.Client.Get(t.Context(), client.ObjectKeyFromObject(pod.Pod), &left); !apierrors.IsNotFound(err) {
		t.Errorf("the machine went down before its pod: %v", err)
	}
	g.AwaitEventGone(t, event.Name)
	m.Await("is shutting down", func(n *corev1.Node) bool {
		c := conditionOf(n, lifecyclev1alpha1.NodeConditionLifecycleTransition)
		return c != nil && c.Reason == shutdown.StateShuttingDown && n.Spec.Unschedulable
	})
	n := m.bootsAndReturns()
	if c := conditionOf(n, corev1.NodeDrained); c == nil || c.Status != corev1.ConditionFalse {
		t.Errorf("the Node says %v", c)
	}
}

func limit(t *testing.T, g ground) {
	m := g.machine(t, "limit", 10*time.Second)
	pod := m.HeldPod("limit-" + m.Name)
	down := m.Shutdown()
	event := m.event()
	pod.AwaitHeld(t, event.Name)
	m.host.Kill()
	m.agent.Kill()
	m.startHost() // who has not seen the shutdown begin waits as long
	m.startAgent()
	if how := m.AwaitDown(down); how != logind.LimitReached {
		t.Errorf("the machine went down: %s", how)
	}
	n := m.Await("says how the drain has ended", func(n *corev1.Node) bool { return shutdown.DrainedOn(n) != nil })
	if d := shutdown.DrainedOn(n); d.Outcome != lifecyclev1alpha1.SlaExpired || !n.Spec.Unschedulable {
		t.Errorf("it ended as %+v; unschedulable is %v", d, n.Spec.Unschedulable)
	}
	m.AwaitLocks(1) // it is not ours to let go
	g.AwaitEventGone(t, event.Name)
	m.powerOff()
	m.restart()
	m.awaitSaid(shutdown.ReasonUnfinished)
	m.awaitReturned()
}

func calledOff(t *testing.T, g ground) {
	m := g.machine(t, "off", time.Hour)
	pod := m.HeldPod("off-" + m.Name)
	down := m.Shutdown()
	event := m.event()
	pod.AwaitHeld(t, event.Name)
	m.CallOff()
	m.awaitSaid(shutdown.ReasonCanceled)
	g.AwaitEventGone(t, event.Name)
	m.awaitReturned()
	m.AwaitLocks(1)
	stillUp(t, "it was called off", down)
	// Of the next one, nobody is told that it is called off.
	down = m.Shutdown()
	event = m.event()
	pod.AwaitHeld(t, event.Name)
	m.CallOffUntold()
	m.awaitSaid(shutdown.ReasonCanceled)
	g.AwaitEventGone(t, event.Name)
	m.awaitReturned()
	// Of another one neither, and the next begins at once: it has an announcement and a drain of its own.
	m.Shutdown()
	event = m.event()
	pod.AwaitHeld(t, event.Name)
	first := m.announced()
	m.CallOffUntold()
	m.Shutdown()
	m.Await("says that another shutdown has begun", func(n *corev1.Node) bool {
		a := shutdown.AnnouncedOn(n)
		return a != nil && a.Since.After(first)
	})
	m.CallOffUntold()
	m.awaitSaid(shutdown.ReasonCanceled)
	m.awaitReturned()
	stillUp(t, "it was called off", down)
	// And once more, to the end.
	pod.LetGo(t)
	if how := m.AwaitDown(m.Shutdown()); how != logind.Released {
		t.Errorf("the machine went down: %s", how)
	}
	// A reboot that is called off at the last moment: it has been drained, and is back.
	m.CallOff()
	m.awaitSaid(shutdown.ReasonCanceled)
	m.awaitReturned()
	m.AwaitLocks(1)
}

// unseen has a shutdown be called off, and another one begin, while slipway-host is dead. The node
// was drained for the first, and has been put back: for the second, it is drained again.
func unseen(t *testing.T, g ground) {
	m := g.machine(t, "unseen", time.Hour)
	pod := m.HeldPod("unseen-" + m.Name)
	m.Shutdown()
	first := m.event()
	pod.AwaitHeld(t, first.Name)
	m.host.Kill()
	pod.LetGo(t)
	m.Await("was drained for the first", func(n *corev1.Node) bool { return shutdown.DrainedOn(n) != nil })
	g.AwaitEventGone(t, first.Name)
	m.CallOff()
	g.Kubectl(t, "uncordon", m.Name)
	another := m.HeldPod("another-" + m.Name)
	down := m.Shutdown()
	m.startHost()
	second := m.event()
	another.AwaitHeld(t, second.Name)
	stillUp(t, "there is another pod", down)
	another.LetGo(t)
	if how := m.AwaitDown(down); how != logind.Released {
		t.Errorf("the machine went down: %s", how)
	}
	m.bootsAndReturns()
}

// powerLost has the machine die in the middle, and not come back for long. Somebody takes the
// node for lost, and says so with a taint: that is theirs to take away.
func powerLost(t *testing.T, g ground) {
	m := g.machine(t, "lost", time.Minute)
	m.SetAgentReady(true)
	pod := m.HeldPod("lost-" + m.Name)
	m.Shutdown()
	event := m.event()
	pod.AwaitHeld(t, event.Name)
	m.powerOff()
	m.SetAgentReady(false)
	outOfService := corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute}
	g.Kubectl(t, "taint", "node", m.Name, outOfService.ToString())
	// The controller ends the event for the agent, at its deadline.
	n := m.Await("says how the drain has ended", func(n *corev1.Node) bool { return shutdown.DrainedOn(n) != nil })
	if d := shutdown.DrainedOn(n); d.Outcome != lifecyclev1alpha1.SlaExpired || d.Event != event.Name {
		t.Errorf("it ended as %+v", d)
	}
	g.AwaitEventGone(t, event.Name)
	m.restart()
	m.SetAgentReady(true)
	m.awaitSaid(shutdown.ReasonUnfinished)
	n = m.awaitReturned()
	for _, taint := range n.Spec.Taints {
		if taint.MatchTaint(&outOfService) {
			return
		}
	}
	t.Errorf("somebody's taint is gone: %v", n.Spec.Taints)
}

// cordonedByOthers has the node be out for a drain of somebody's before its machine reboots:
// it stays out.
func cordonedByOthers(t *testing.T, g ground) {
	m := g.machine(t, "others", time.Hour)
	m.Expect(harness.CordonLeft, "it is out for the event that was before the shutdown")
	drain := m.Event(m.EventName("drain"), harness.Drain)
	g.AwaitEventGone(t, drain.Name)
	if how := m.AwaitDown(m.Shutdown()); how != logind.Released {
		t.Errorf("the machine went down: %s", how)
	}
	m.powerOff()
	m.restart()
	m.awaitSaid(shutdown.ReasonFinished)
	n := m.Await("is done with the shutdown", func(n *corev1.Node) bool {
		return shutdown.AnnouncedOn(n) == nil && shutdown.DrainedOn(n) == nil
	})
	if ours, _ := nodestate.Cordons(n); len(ours) != 1 || ours[0].Event != drain.Name {
		t.Errorf("the node is cordoned for %v", ours)
	}
}

// whileDrained has the machine be shut down in the middle of a drain that then holds the node, as
// that of a maintenance does: the shutdown waits behind it, and goes on when the node is empty.
func whileDrained(t *testing.T, g ground) {
	m := g.machine(t, "drained", time.Hour)
	pod := m.HeldPod("drained-" + m.Name)
	hold := m.Event(m.EventName("hold"), harness.Drain, harness.Parameters(t, func(p *slipwayv1alpha1.DrainParameters) { p.Hold = true }))
	pod.AwaitHeld(t, hold.Name)
	down := m.Shutdown()
	event := m.event()
	stillUp(t, "the drain goes on", down)
	pod.LetGo(t)
	if how := m.AwaitDown(down); how != logind.Released {
		t.Errorf("the machine went down: %s", how)
	}
	g.AwaitEventGone(t, event.Name)
	m.powerOff()
	m.restart()
	m.awaitSaid(shutdown.ReasonFinished)
	n := m.Await("is done with the shutdown", func(n *corev1.Node) bool {
		return shutdown.AnnouncedOn(n) == nil && shutdown.DrainedOn(n) == nil
	})
	if ours, _ := nodestate.Cordons(n); len(ours) != 1 || ours[0].Event != hold.Name {
		t.Errorf("the node is cordoned for %v", ours)
	}
	if err := g.Client.Delete(t.Context(), hold); err != nil {
		t.Fatal(err)
	}
	g.AwaitEventGone(t, hold.Name)
	m.awaitReturned()
}
