// SPDX-License-Identifier: Apache-2.0

package update

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/test/harness"
)

const (
	drained = 20 // nodes
	spare   = 4  // nodes, where their pods can go
	apps    = 4  // with a budget each, which all nodes share
)

// TestAgentsAreReplacedInTheMiddleOfTwentyDrains updates the agents' DaemonSet as the chart
// does it. On each node one pod stays until all agents have been replaced: no drain is over
// before. The others go while agents do. It has the machine for itself: that is many processes.
func TestAgentsAreReplacedInTheMiddleOfTwentyDrains(t *testing.T) {
	env := harness.Own(t, harness.Options{})
	const group = "rolling"
	nodes := nodesOf(t, env, group, drained)
	for i := range apps {
		app := fmt.Sprintf("%s-%d", group, i)
		env.Deployment(t, app, group, drained, quick())
		env.Budget(t, app, 2)
	}
	nodesOf(t, env, group, spare)
	agents := startFleet(t, env, nodes)
	held := map[*harness.Node]*harness.HeldPod{}
	for _, node := range nodes {
		held[node] = node.HeldPod("held-" + node.Name)
		node.Event(node.EventName("drain"), harness.Drain, harness.Kept)
	}
	for _, node := range nodes {
		env.AwaitEvent(t, node.EventName("drain"), "has begun", begun)
	}
	env.AwaitEvent(t, nodes[0].EventName("drain"), "has evicted a pod", evicted)

	before := time.Now()
	roll(t, env)
	agents.replaceAll(func(node *harness.Node) {
		if e := eventOf(t, env, node.EventName("drain")); !begun(e) {
			t.Errorf("the drain of %s is %s, and not in the middle, when its agent ends", node.Name, e.Status.ClaimStatus)
		}
	})
	meanwhile := evictionsSince(nodes, before)
	t.Logf("%d agents were replaced in %s; meanwhile there were %d requests for evictions",
		drained, time.Since(before).Round(time.Second/10), meanwhile)
	if meanwhile == 0 {
		t.Error("nothing was evicted while agents were replaced")
	}

	for _, pod := range held {
		pod.LetGo(t)
	}
	for _, node := range nodes {
		ended := env.Outcome(t, node.EventName("drain"))
		if ended.Status.ClaimStatus != lifecyclev1alpha1.Succeeded {
			t.Errorf("the drain of %s ended as %s: %s", node.Name, ended.Status.ClaimStatus, harness.Finished(ended).Message)
		}
	}
	t.Logf("all drains were over %s after the update began", time.Since(before).Round(time.Second/10))
	for _, node := range nodes {
		for i := range apps {
			node.AwaitPodsGone(client.MatchingLabels{"app": fmt.Sprintf("%s-%d", group, i)})
		}
		node.Event(node.EventName("return"), harness.Return)
	}
	for _, node := range nodes {
		env.AwaitEventGone(t, node.EventName("return"))
	}
}

func nodesOf(t *testing.T, env *harness.Env, group string, count int) (nodes []*harness.Node) {
	t.Helper()
	for range count {
		nodes = append(nodes, env.Node(t, group))
	}
	return nodes
}

// begun says whether the event is in the middle: claimed, and its driver has begun.
func begun(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return e.Status.ClaimStatus == lifecyclev1alpha1.Claimed && e.Status.State == "drain-started"
}

func evicted(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return e.Status.Progress != nil && e.Status.Progress.Done > 0
}

func eventOf(t *testing.T, env *harness.Env, name string) *lifecyclev1alpha1.LifecycleEvent {
	t.Helper()
	event := &lifecyclev1alpha1.LifecycleEvent{}
	if err := env.Client.Get(t.Context(), client.ObjectKey{Name: name}, event); err != nil {
		t.Fatal(err)
	}
	return event
}

func evictionsSince(nodes []*harness.Node, at time.Time) (count int) {
	for _, node := range nodes {
		count += len(node.EvictionsSince(at))
	}
	return count
}

// roll changes the template of the agents' pods, with as many at a time as in the chart.
func roll(t *testing.T, env *harness.Env) {
	t.Helper()
	agents := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: devcluster.AgentServiceAccount, Namespace: devcluster.Namespace}}
	patch := `{"spec":{"updateStrategy":{"rollingUpdate":{"maxUnavailable":"10%"}},"template":{"metadata":{"annotations":{"version":"next"}}}}}`
	if err := env.Client.Patch(t.Context(), agents, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}
