// SPDX-License-Identifier: Apache-2.0

package walk

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

func TestAHundredEventsOfOneNodeEndOneAfterAnother(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "hundred")
	node.Expect(harness.CordonLeft, "the last of the events is a drain")
	h := node.Record()
	agent := node.Agent("")

	var events []string
	for i := range 100 {
		name, transition := node.EventName(fmt.Sprintf("turn-%d", i)), harness.Return
		if i%10 == 9 {
			transition = harness.Drain
		}
		node.Event(name, transition)
		events = append(events, name)
	}
	// A new agent does not remember what the one before has claimed.
	h.Await(events[30] + " gone")
	agent.Kill()
	node.Agent("")

	for _, event := range events {
		drained(t, env, h, event)
	}
	if most := mostClaimed(h); most != 1 {
		t.Errorf("%d events were Claimed at one moment; want 1", most)
	}
}

// obstacle keeps an event from being claimed.
type obstacle struct {
	name   string
	reason string
	// says is what the event's message has in it, besides its own.
	says []string
	// gates of the event.
	gates []string
	// put puts it there; what it returns takes it away.
	put func(s scene) (remedy func())
}

// scene is a node with an agent. The transition, its driver and the event have the
// same name.
type scene struct {
	t    *testing.T
	env  *harness.Env
	node *harness.Node
	name string
}

func (s scene) publish() { s.env.Transition(s.t, s.name, s.name) }

// serve registers the driver, which does everything at once.
func (s scene) serve() { newStandIn(s.t, s.node, s.name).Finish() }

var obstacles = []obstacle{
	{
		name: "whose transition does not exist", reason: lifecyclev1alpha1.ReasonTransitionNotFound,
		says: []string{"spec.transitionName: there is no LifecycleTransition"},
		put: func(s scene) func() {
			s.serve()
			return s.publish
		},
	},
	{
		name: "whose driver is missing", reason: lifecyclev1alpha1.ReasonDriverMissing,
		says: []string{"driver", "is not registered on node"},
		put: func(s scene) func() {
			s.publish()
			return s.serve
		},
	},
	{
		name: "whose driver does not answer", reason: lifecyclev1alpha1.ReasonDriverNotReady,
		says: []string{"driver", "is registered on node", "but does not answer"},
		put: func(s scene) func() {
			s.publish()
			driver := newMuteDriver(s.t, s.node, s.name)
			return func() {
				driver.Leave()
				s.serve()
			}
		},
	},
	{
		name: "that has gates", reason: lifecyclev1alpha1.ReasonGated,
		gates: []string{"example.com/approval", "example.com/window"},
		says:  []string{"spec.gates: waiting for example.com/approval, example.com/window"},
		put: func(s scene) func() {
			s.publish()
			s.serve()
			return func() {
				s.node.Change(s.name, harness.Gates("example.com/window"))
				e := s.env.AwaitCondition(s.t, s.name, lifecyclev1alpha1.ConditionClaimable, lifecyclev1alpha1.ReasonGated,
					"spec.gates: waiting for example.com/window")
				if e.Status.ClaimStatus != lifecyclev1alpha1.Pending {
					s.t.Errorf("with one gate left, the event is %s; want Pending", e.Status.ClaimStatus)
				}
				s.node.Change(s.name, harness.Gates())
			}
		},
	},
}

func TestAnEventThatCannotBeClaimedSaysWhyAndHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	for _, obstacle := range obstacles {
		t.Run(obstacle.name, func(t *testing.T) {
			t.Parallel()
			env := harness.Shared(t)
			node := env.Node(t, "holds-up")
			h := node.Record()
			node.Agent("")
			waits, other := node.EventName("waits"), node.EventName("other")
			remedy := obstacle.put(scene{t, env, node, waits})

			node.Event(waits, waits, harness.Gates(obstacle.gates...))
			env.AwaitCondition(t, waits, lifecyclev1alpha1.ConditionClaimable, obstacle.reason, obstacle.says...)
			node.Event(other, harness.Return)
			drained(t, env, h, other)
			if diff := cmp.Diff([]string{"Pending"}, h.States(waits)); diff != "" {
				t.Errorf("phases of the event that waits (-want +got):\n%s", diff)
			}

			remedy()
			drained(t, env, h, waits)
		})
	}
}

// A third-party controller that knows only the KEP's fields sets no claimedBy. Its event keeps the node's other events
// waiting, also after its deletion, and only its claimer ends it.
func TestAnEventThatAnotherControllerHasClaimedKeepsTheNode(t *testing.T) {
	t.Parallel()
	for name, claimer := range map[string]*lifecyclev1alpha1.Claimer{
		"the controller of another cluster-wide mode": {Kind: lifecyclev1alpha1.Controller, Identity: "another"},
		"a kind of its own":                           {Kind: "ExampleOperator", Identity: "operator"},
		"the KEP's fields alone":                      nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := harness.Shared(t)
			node := env.Node(t, "another-claimer")
			h := node.Record()
			theirs, ours := node.EventName("theirs"), node.EventName("ours")
			event := node.Event(theirs, harness.Return, func(e *lifecyclev1alpha1.LifecycleEvent) {
				e.Finalizers = []string{lifecyclev1alpha1.ClaimProtectionFinalizer}
			})
			event.Status.ClaimStatus, event.Status.ClaimedBy = lifecyclev1alpha1.Claimed, claimer
			if err := env.Client.Status().Update(t.Context(), event); err != nil {
				t.Fatal(err)
			}
			before := event.ResourceVersion
			node.Agent("")

			node.Event(ours, harness.Return)
			env.AwaitCondition(t, ours, lifecyclev1alpha1.ConditionClaimable, lifecyclev1alpha1.ReasonWaitingForTurn)
			if err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(event), event); err != nil || event.ResourceVersion != before {
				t.Fatalf("the event of the other claimer has been written: version %s, was %s (%v)", event.ResourceVersion, before, err)
			}
			if err := env.Client.Delete(t.Context(), event); err != nil {
				t.Fatal(err)
			}
			node.Change(ours, func(e *lifecyclev1alpha1.LifecycleEvent) { e.Labels = map[string]string{"looked": "again"} })
			node.Change(theirs, func(e *lifecyclev1alpha1.LifecycleEvent) { e.Finalizers = nil })
			drained(t, env, h, ours)
			if diff := cmp.Diff([]string{"Pending", "Claimed", "gone"}, h.States(theirs)); diff != "" {
				t.Errorf("phases of the event that another controller drives (-want +got):\n%s", diff)
			}
		})
	}
}
