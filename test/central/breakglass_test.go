// SPDX-License-Identifier: Apache-2.0

package central

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// TestAnEmergencyWaitsForNobody: a budget allows no drain, another user holds the node, a third-party controller has claimed it,
// and Slipway's controller is dead. A person with the permission drains the node, and returns it. The others are told.
func TestAnEmergencyWaitsForNobody(t *testing.T) {
	t.Parallel()
	env := harness.Own(t, harness.Options{})
	env.Guards(t)
	env.Shell(t, `
kubectl create clusterrole reads-nodes --verb=get,list,watch --resource=nodes
kubectl create clusterrolebinding read-nodes --clusterrole=reads-nodes --user=alice --user=boss
kubectl create clusterrolebinding alice --clusterrole=slipway-operator --user=alice
kubectl create clusterrolebinding boss --clusterrole=slipway-admin --user=boss`)
	slipway := func(arguments string) string {
		return env.Shell(t, harness.Binary(t, "kubectl-slipway")+" "+arguments)
	}
	controller := env.Controller(t, "leader", "")
	controller.AwaitLeading()
	node := env.Worker(t, "worker-1", "emergency")
	env.Node(t, "others") // where pods can go
	node.Agent("")
	node.SetAgentReady(true)

	slipway("drain worker-1 --as=alice --reason disk")
	env.Shell(t, `kubectl apply -f - <<'END'
apiVersion: slipway.dev/v1alpha1
kind: NodeAvailabilityBudget
metadata: {name: none}
spec: {selector: {}, maxUnavailable: 0}
END`)
	foreign := node.Event("foreign", "firmware.example.com")
	claim := client.RawPatch(types.MergePatchType, []byte(`{"status":{"claimStatus":"Claimed","claimedBy":{"kind":"ExampleOperator","identity":"firmware"}}}`))
	if err := env.Client.Status().Patch(t.Context(), foreign, claim); err != nil {
		t.Fatal(err)
	}
	controller.Stop()

	refused := slipway("drain worker-1 --as=alice --break-glass --reason fire || true")
	if !strings.Contains(refused, "need the verb break-glass") {
		t.Errorf("a user without the permission is not refused: %s", refused)
	}
	slipway("drain worker-1 --as=boss --break-glass --reason fire")
	told := env.AwaitCoreEvent(t, "worker-1", "BreakGlass")
	for _, says := range []string{`requested by "boss"`, "fire"} {
		if !strings.Contains(told.Message, says) {
			t.Errorf("the core Event does not say %q: %s", says, told.Message)
		}
	}
	slipway("uncordon worker-1 --as=boss --break-glass --reason 'the fire is out'")
	node.Await("is schedulable", func(n *corev1.Node) bool { return !n.Spec.Unschedulable })

	// The controller settles the holds when it works again.
	env.Controller(t, "leader again", "").AwaitLeading()
	harness.AwaitNone[*slipwayv1alpha1.NodeHold](t, env, &slipwayv1alpha1.NodeHoldList{})
	released := env.AwaitCoreEvent(t, "worker-1", "HoldReleased")
	if !strings.Contains(released.Message, `user "boss" returns the node: it is no longer held by user "alice" for "disk"`) {
		t.Errorf("alice is not told who has released the hold: %s", released.Message)
	}
	for _, event := range []string{"break-glass-drain-worker-1", "break-glass-uncordon-worker-1"} {
		env.AwaitEventGone(t, event)
	}
}
