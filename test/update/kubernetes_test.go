// SPDX-License-Identifier: Apache-2.0

package update

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// TestKubernetesIsUpgradedInTheMiddleOfADrain restarts the control plane during a drain, the API server first. `make matrix`
// starts it with the previous minor version of Kubernetes, and upgrades it here.
func TestKubernetesIsUpgradedInTheMiddleOfADrain(t *testing.T) {
	t.Parallel()
	env := harness.Own(t, harness.Options{})
	node := env.Node(t, "upgraded")
	agent := node.Agent("")
	held := node.HeldPod("held-" + node.Name)
	drain := node.Event(node.EventName("drain"), harness.Drain, harness.Kept)
	held.AwaitHeld(t, drain.Name)

	var flags []string
	next := os.Getenv("SLIPWAY_UPGRADE_TO")
	if next != "" {
		flags = append(flags, "--kubernetes="+next)
	}
	for _, component := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		if err := env.Stop(t.Context(), component); err != nil {
			t.Fatal(err)
		}
		if err := env.Start(t.Context(), component, flags...); err != nil {
			t.Fatal(err)
		}
	}
	if version := env.Kubectl(t, "version"); !strings.Contains(version, "Server Version: "+next) {
		t.Fatalf("want the API server of %s:\n%s", next, version)
	}

	held.LetGo(t)
	if ended := env.Outcome(t, drain.Name); ended.Status.ClaimStatus != lifecyclev1alpha1.Succeeded {
		t.Errorf("the drain ended as %s: %s", ended.Status.ClaimStatus, harness.Finished(ended).Message)
	}
	node.Event(node.EventName("return"), harness.Return)
	env.AwaitEventGone(t, node.EventName("return"))
	node.Await("is schedulable", func(n *corev1.Node) bool { return !n.Spec.Unschedulable })
	agent.Stop()
}
