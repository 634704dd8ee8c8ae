// SPDX-License-Identifier: Apache-2.0

package central

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// notReturned is why the audit log may end with a cordon of ours.
const notReturned = "a node that was drained stays cordoned until it is returned, which is not part of this test"

const centrally = "--builtin-drivers=drain"

func quick() harness.PodOptions { return harness.PodOptions{Gone: time.Second} }

// drained waits for the event's end and checks that it succeeded and left nothing.
func drained(t *testing.T, h *harness.History, event string) {
	t.Helper()
	h.Await(event + " gone")
	if diff := cmp.Diff([]string{"Pending", "Claimed", "Succeeded", "gone"}, h.States(event)); diff != "" {
		t.Errorf("phases of %s (-want +got):\n%s", event, diff)
	}
}

// outcome is how a kept event has ended.
func outcome(t *testing.T, env *harness.Env, event string) (phase lifecyclev1alpha1.ClaimStatus, reason, message string) {
	t.Helper()
	e := env.Outcome(t, event)
	return e.Status.ClaimStatus, harness.Finished(e).Reason, harness.Finished(e).Message
}

// labelControlPlane makes the node one of the control plane.
func labelControlPlane(t *testing.T, env *harness.Env, node *harness.Node) {
	t.Helper()
	n := &corev1.Node{}
	n.Name = node.Name
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"node-role.kubernetes.io/control-plane":""}}}`))
	if err := env.Client.Patch(t.Context(), n, patch); err != nil {
		t.Fatal(err)
	}
}
