// SPDX-License-Identifier: Apache-2.0

package walk

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

var slaExpired = []string{"Pending", "Claimed", "SlaExpired", "gone"}

func TestAnEventEndsAtItsDeadlineAndItsDriverIsToldBefore(t *testing.T) {
	t.Parallel()
	const sla = 10500 * time.Millisecond
	env := harness.Shared(t)
	node := env.Node(t, "deadline")
	h := node.Record()
	node.Agent("")
	name := node.EventName("deadline")
	env.Transition(t, name, name)
	driver := newStandIn(t, node, name)
	driver.OnLastEnd(func(event string) {
		var e lifecyclev1alpha1.LifecycleEvent
		if err := env.Client.Get(t.Context(), client.ObjectKey{Name: event}, &e); err != nil {
			t.Errorf("read the event when its driver is told: %v", err)
		}
		if e.Status.ClaimStatus != lifecyclev1alpha1.Claimed {
			t.Errorf("its driver is told when the event is %s; want Claimed still", e.Status.ClaimStatus)
		}
	})

	before := time.Now()
	node.Event(name, name, harness.SLA(sla))
	claimed := env.AwaitEvent(t, name, "is claimed", func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		return e.Status.ClaimStatus == lifecyclev1alpha1.Claimed
	})
	deadline := claimed.Status.SLA.Time
	// It was claimed between the two moments, and the deadline is rounded up to a second.
	if earliest, latest := before.Add(sla), time.Now().Add(sla+time.Second); deadline.Before(earliest) || deadline.After(latest) {
		t.Errorf("the deadline is %s; want one from %s to %s", deadline, earliest, latest)
	}

	over := env.AwaitCondition(t, name, lifecyclev1alpha1.ConditionFinished, lifecyclev1alpha1.ReasonSLAExpired, `state "done" was not reached`)
	if ended := changed(over, lifecyclev1alpha1.ConditionFinished); ended.Before(deadline) {
		t.Errorf("it ended at %s, before its deadline %s", ended, deadline)
	}
	h.Await(name + " gone")
	if diff := cmp.Diff(slaExpired, h.States(name)); diff != "" {
		t.Errorf("phases of the event (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Start " + name, "End " + name, "LastEnd " + name}, driver.Calls()); diff != "" {
		t.Errorf("calls to the driver (-want +got):\n%s", diff)
	}
}

func TestADriverIsToldOfADeadlineThatPassedWhileTheAgentWasDown(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "down")
	h := node.Record()
	agent := node.Agent("")
	name := node.EventName("down")
	env.Transition(t, name, name)
	driver := newStandIn(t, node, name)
	node.Event(name, name, harness.SLA(15*time.Second))
	driver.AwaitCall("End " + name)
	claimed := env.AwaitEvent(t, name, "is claimed", func(e *lifecyclev1alpha1.LifecycleEvent) bool { return e.Status.SLA != nil })

	agent.Kill()
	harness.AwaitTime(t, claimed.Status.SLA.Time)
	node.Agent("")
	h.Await(name + " gone")
	if diff := cmp.Diff(slaExpired, h.States(name)); diff != "" {
		t.Errorf("phases of the event (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Start " + name, "End " + name, "LastEnd " + name}, driver.Calls()); diff != "" {
		t.Errorf("calls to the driver (-want +got):\n%s", diff)
	}
}

// lateDrain is a drain that a budget holds up at its deadline.
type lateDrain struct {
	name, group string
	separate    bool // the driver is a process of its own, and goes on without the agent
	down        bool // the agent is down at the deadline
}

func TestADrainStopsAtItsDeadlineAndTheSameFileDrainsAgain(t *testing.T) {
	t.Parallel()
	for _, late := range []lateDrain{
		{name: "driver built in", group: "late-1"},
		{name: "driver built in, agent down at the deadline", group: "late-2", down: true},
		{name: "driver by itself", group: "late-3", separate: true},
		{name: "driver by itself, agent down at the deadline", group: "late-4", separate: true, down: true},
	} {
		t.Run(late.name, func(t *testing.T) {
			t.Parallel()
			late.run(t)
		})
	}
}

func (l lateDrain) run(t *testing.T) {
	env := harness.Shared(t)
	node := env.Node(t, l.group)
	node.Expect(harness.CordonLeft, notReturned)
	app := node.Name
	env.Deployment(t, app, l.group, 3, quick())
	budget := env.Budget(t, app, 0)
	h := node.Record()
	agent := node.Agent("", l.flags()...)
	if l.separate {
		node.Driver("")
	}
	event := node.EventName("drain")
	apply := func() { node.Event(event, harness.Drain, harness.SLA(15*time.Second)) }

	apply()
	held := env.AwaitEvent(t, event, "is held up", func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		return e.Status.BlockersTotal > 0
	})
	if l.down {
		agent.Kill()
		harness.AwaitTime(t, held.Status.SLA.Time)
		node.Agent("", l.flags()...)
	}
	h.Await(event + " gone")
	if diff := cmp.Diff(slaExpired, h.States(event)); diff != "" {
		t.Errorf("phases of the event (-want +got):\n%s", diff)
	}

	// Nothing holds the pods any more: did the drain go on, it would evict them, and
	// the late one as soon as it shows.
	if err := env.Client.Delete(t.Context(), budget); err != nil {
		t.Fatal(err)
	}
	node.AwaitReady(node.Pod(app, quick()))
	ended := lastStatusWrite(t, node, event)
	for _, eviction := range node.Evictions() {
		if eviction.Ended.After(ended.Began) {
			t.Errorf("after the end of the event (%s): %s", ended, eviction)
		}
	}

	h = node.Record()
	apply()
	drained(t, env, h, event)
	node.AwaitPodsGone(client.MatchingLabels{"app": app})
}

func (l lateDrain) flags() []string {
	if l.separate {
		return []string{"--builtin-drivers="}
	}
	return nil
}

func TestAfterAFailureTheSameFileDrains(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "failure")
	node.Expect(harness.CordonLeft, notReturned)
	node.Pod("failure", quick())
	h := node.Record()
	node.Agent("", "--builtin-drivers=")
	broken := newStandIn(t, node, harness.Drain)
	broken.Fail("the disk is full")
	event := node.EventName("drain")

	node.Event(event, harness.Drain)
	env.AwaitCondition(t, event, lifecyclev1alpha1.ConditionFinished, lifecyclev1alpha1.ReasonDriverFailed, harness.Drain, "the disk is full")
	h.Await(event + " gone")
	if diff := cmp.Diff([]string{"Pending", "Claimed", "Failed", "gone"}, h.States(event)); diff != "" {
		t.Errorf("phases of the event (-want +got):\n%s", diff)
	}

	broken.Leave()
	node.Driver("")
	h = node.Record()
	node.Event(event, harness.Drain)
	drained(t, env, h, event)
	node.AwaitPodsGone(client.MatchingLabels{"app": "failure"})
}
