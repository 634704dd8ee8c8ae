// SPDX-License-Identifier: Apache-2.0

package central

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

var guarded = harness.Gates(lifecyclev1alpha1.GateGuards)

// twoNodes is a cluster of two nodes with their agents, and a controller.
func twoNodes(t *testing.T) (env *harness.Env, nodes []*harness.Node) {
	t.Helper()
	env = harness.Own(t, harness.Options{})
	env.Controller(t, "leader", "").AwaitLeading()
	nodes = []*harness.Node{env.Worker(t, "worker-1", "guards"), env.Node(t, "guards")}
	for _, node := range nodes {
		node.Agent("")
		node.SetAgentReady(true)
	}
	return env, nodes
}

// whoIsHeld waits until the guards have let one of the two drains pass. It returns the node whose drain has passed, and the other
// one. Until then, the guard may hold now one drain and now the other: they have the same age.
func whoIsHeld(t *testing.T, env *harness.Env, nodes []*harness.Node) (passed, held *harness.Node) {
	t.Helper()
	e := harness.Await(t, env, "one drain has passed the guards", &lifecyclev1alpha1.LifecycleEventList{},
		func(e *lifecyclev1alpha1.LifecycleEvent) bool { return len(e.Spec.Gates) == 0 })
	if e.Name == nodes[0].EventName("drain") {
		return nodes[0], nodes[1]
	}
	return nodes[1], nodes[0]
}

func TestTheLastNodeIsNotTakenOutUnasked(t *testing.T) {
	t.Parallel()
	env, nodes := twoNodes(t)
	for _, node := range nodes {
		node.Event(node.EventName("drain"), harness.Drain, guarded)
	}
	passed, held := whoIsHeld(t, env, nodes)
	env.AwaitEventGone(t, passed.EventName("drain"))
	env.AwaitCondition(t, held.EventName("drain"), lifecyclev1alpha1.ConditionGuardsPassed,
		string(lifecyclev1alpha1.GuardLastSchedulableNode), "is the last one that pods can go to", "spec.allow")

	// The other one is returned: now it may go.
	env.AwaitEventGone(t, passed.Event(passed.EventName("uncordon"), harness.Return, guarded).Name)
	env.AwaitEventGone(t, held.EventName("drain"))

	// Both at a time, where that is wanted.
	again := passed.Event(passed.EventName("drain-again"), harness.Drain, guarded)
	env.AwaitCondition(t, again.Name, lifecyclev1alpha1.ConditionGuardsPassed, string(lifecyclev1alpha1.GuardLastSchedulableNode))
	passed.Change(again.Name, func(e *lifecyclev1alpha1.LifecycleEvent) {
		e.Spec.Allow = []lifecyclev1alpha1.Guard{lifecyclev1alpha1.GuardLastSchedulableNode}
	})
	env.AwaitEventGone(t, again.Name)
	for _, node := range nodes {
		env.AwaitEventGone(t, node.Event(node.EventName("return"), harness.Return, guarded).Name)
	}
}

// A cluster with one node, which is what kind gives: the guard warns, and a second drain goes as the first.
func TestTheOnlyNodeIsDrainedWithAWarning(t *testing.T) {
	t.Parallel()
	env := harness.Own(t, harness.Options{})
	env.Controller(t, "leader", "").AwaitLeading()
	node := env.Worker(t, "worker-1", "only")
	node.Agent("")
	node.SetAgentReady(true)
	const looked = "example.com/looked"
	for _, turn := range []string{"first", "second"} {
		drain := node.Event(node.EventName(turn), harness.Drain, guarded, func(e *lifecyclev1alpha1.LifecycleEvent) {
			e.Finalizers = []string{looked}
		})
		e := env.AwaitCondition(t, drain.Name, lifecyclev1alpha1.ConditionFinished, lifecyclev1alpha1.ReasonSucceeded)
		if c := harness.Condition(e, lifecyclev1alpha1.ConditionGuardsPassed); c.Reason != lifecyclev1alpha1.ReasonOnlyNode {
			t.Errorf("the %s drain does not warn that the node is the only one: %+v", turn, c)
		}
		node.Change(drain.Name, func(e *lifecyclev1alpha1.LifecycleEvent) {
			e.Finalizers = slices.DeleteFunc(e.Finalizers, func(f string) bool { return f == looked })
		})
		env.AwaitEventGone(t, drain.Name)
		env.AwaitEventGone(t, node.Event(node.EventName(turn+"-return"), harness.Return, guarded).Name)
	}
}

func TestOneNodeOfTheControlPlaneAtATime(t *testing.T) {
	t.Parallel()
	env, nodes := twoNodes(t)
	env.Node(t, "worker") // where pods can go
	for _, node := range nodes {
		labelControlPlane(t, env, node)
	}
	for _, node := range nodes {
		node.Event(node.EventName("drain"), harness.Drain, guarded)
	}
	passed, held := whoIsHeld(t, env, nodes)
	env.AwaitEventGone(t, passed.EventName("drain"))
	// Its cordon is ours until it is returned.
	env.AwaitCondition(t, held.EventName("drain"), lifecyclev1alpha1.ConditionGuardsPassed,
		string(lifecyclev1alpha1.GuardSecondControlPlaneNode), passed.Name+" is out already")
	env.AwaitEventGone(t, passed.Event(passed.EventName("uncordon"), harness.Return, guarded).Name)
	env.AwaitEventGone(t, held.EventName("drain"))
	env.AwaitEventGone(t, held.Event(held.EventName("uncordon"), harness.Return, guarded).Name)
}

func TestWhatWasAllowedIsNotCalledBack(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "allow")
	event := node.Event(node.EventName("gated"), harness.Drain, harness.Gates("example.com/never"), func(e *lifecyclev1alpha1.LifecycleEvent) {
		e.Spec.Allow = []lifecyclev1alpha1.Guard{lifecyclev1alpha1.GuardLastSchedulableNode}
	})
	for name, patch := range map[string]string{
		"all of it":    `{"spec":{"allow":null}}`,
		"one of them":  `{"spec":{"allow":["SecondControlPlaneNode"]}}`,
		"made up":      `{"spec":{"allow":["LastSchedulableNode","Whatever"]}}`,
		"one is added": `{"spec":{"allow":["LastSchedulableNode","SecondControlPlaneNode"]}}`,
	} {
		err := env.Client.Patch(t.Context(), event.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch)), client.DryRunAll)
		accepted := name == "one is added"
		if accepted != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && !strings.Contains(err.Error(), "spec.allow") {
			t.Errorf("%s: the error names no field: %v", name, err)
		}
	}
}
