// SPDX-License-Identifier: Apache-2.0

package walk

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
	"github.com/slipway-k8s/slipway/test/harness"
)

// crash says who is killed while a process stands at a fault point: the drain driver's
// at "evicting", the agent's at all others.
type crash struct {
	name                  string
	separate              bool // the drain driver is a process of its own
	killAgent, killDriver bool
}

var crashes = []crash{
	{name: "the agent with its driver", killAgent: true},
	{name: "the agent alone", separate: true, killAgent: true},
	{name: "the driver alone", separate: true, killDriver: true},
	{name: "the agent and the driver", separate: true, killAgent: true, killDriver: true},
}

var points = []string{
	faultpoint.Claimed, faultpoint.FinalizerSet, faultpoint.StartCalled, faultpoint.ConditionPatched,
	faultpoint.Evicting, faultpoint.EndAnswered, faultpoint.TerminalWritten, faultpoint.Deleted,
}

func TestADrainOutlivesKillDashNine(t *testing.T) {
	t.Parallel()
	neighbour := harness.Shared(t).Node(t, "crash").Pod("crash", quick())
	for _, crash := range crashes {
		for _, point := range points {
			t.Run(crash.name+" at "+point, func(t *testing.T) {
				t.Parallel()
				crash.at(t, point)
				harness.Shared(t).Untouched(t, neighbour)
			})
		}
	}
}

// at lets a drain come to the fault point, kills, starts again what was killed, and
// expects of the drain what is expected of one that nobody disturbed.
func (c crash) at(t *testing.T, point string) {
	env := harness.Shared(t)
	node := env.Node(t, "crash")
	node.Expect(harness.CordonLeft, notReturned)
	pods := []*corev1.Pod{node.Pod("crash", quick()), node.Pod("crash", quick())}
	event := node.EventName("drain")
	h := node.Record()

	agent, driver := c.start(node, point)
	node.Event(event, harness.Drain)
	stopped := agent
	if c.separate && point == faultpoint.Evicting {
		stopped = driver
	}
	stopped.AwaitFaultPoint(point)
	if c.killAgent {
		agent.Kill()
	}
	if c.killDriver {
		driver.Kill()
	}
	t.Logf("the last write was: %s", lastWrite(node))
	stopped.Release()
	if c.killAgent {
		node.Agent("", c.flags()...)
	}
	if c.killDriver {
		node.Driver("")
	}

	drained(t, env, h, event)
	node.AwaitPodsGone(client.MatchingLabels{"app": "crash"})
	node.EvictedOnly(pods...)
}

// start starts the processes, one of which stops at the point.
func (c crash) start(node *harness.Node, point string) (agent, driver *harness.Process) {
	if !c.separate {
		return node.Agent(point), nil
	}
	if point == faultpoint.Evicting {
		return node.Agent("", c.flags()...), node.Driver(point)
	}
	return node.Agent(point, c.flags()...), node.Driver("")
}

func (c crash) flags() []string {
	if c.separate {
		return []string{"--builtin-drivers="}
	}
	return nil
}
