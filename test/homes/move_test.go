// SPDX-License-Identifier: Apache-2.0

package homes

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// A server that begins to serve lifecycle.k8s.io itself takes the LifecycleEvents there
// away: agents say so, and what to do. When the group is given up again, events come
// back from storage that nobody wants any more: they are ended.
func TestTheAPIMovesAndComesBack(t *testing.T) {
	t.Parallel()
	env := harness.Own(t, harness.Options{})
	node := env.Worker(t, "worker-1", "seed")
	node.Expect(harness.CordonLeft, "the last event is a drain, and the node is not returned after it")
	address := harness.FreeAddress(t)
	agent := node.Agent("", "--health-probe-bind-address="+address)
	agent.AwaitLog("Serving")
	if code, said := harness.Get(t, address, "/readyz/api-home"); code != http.StatusOK {
		t.Fatalf("the agent is not ready: %d %s", code, said)
	}
	old := node.Event("old", harness.Drain, func(e *lifecyclev1alpha1.LifecycleEvent) {
		harness.Kept(e)
		e.Spec.Gates = []lifecyclev1alpha1.Gate{{Name: "example.com/approval"}}
	})

	env.Restart(t, builtinGroup...)
	unready(t, agent, address, "the API server no longer serves LifecycleEvents in lifecycle.k8s.io: either their CRD was deleted, "+
		"or the server serves that group itself now (feature gate EvictionRequestAPI): "+
		"apply the CRDs of slm.slipway.dev and restart this process")
	if err := env.Install(t.Context(), lifecyclev1alpha1.GroupSlipway); err != nil {
		t.Fatal(err)
	}
	unready(t, agent, address, "the API of LifecycleEvents has moved from lifecycle.k8s.io to slm.slipway.dev: restart this process to follow it")
	agent.Stop()

	agent = node.Agent("")
	node.Pod("web", harness.PodOptions{})
	drainAndReturn(t, env.In(t, lifecyclev1alpha1.GroupSlipway), node.In(lifecyclev1alpha1.GroupSlipway))
	agent.Stop()

	env.Restart(t, noBuiltinGroup...)
	pod := node.Pod("kept", harness.PodOptions{})
	node.Agent("")
	ended := env.Outcome(t, old.Name)
	if c := harness.Finished(ended); ended.Status.ClaimStatus != lifecyclev1alpha1.Failed || c.Reason != lifecyclev1alpha1.ReasonHomeChanged {
		t.Errorf("the event of long ago ended as %s, %+v; want Failed, HomeChanged", ended.Status.ClaimStatus, c)
	}
	env.Untouched(t, pod)
	node.Await("is schedulable", func(n *corev1.Node) bool { return !n.Spec.Unschedulable })
	node.Event("new", harness.Drain)
	env.AwaitEventGone(t, "new")
	node.AwaitPodsGone(client.MatchingLabels{"app": "kept"})
}

// unready waits until the agent complains, and checks that its readiness says the same.
func unready(t *testing.T, agent *harness.Process, address, message string) {
	t.Helper()
	agent.AwaitLog(message)
	code, said := harness.Get(t, address, "/readyz/api-home")
	if code != http.StatusInternalServerError || !strings.Contains(said, message) {
		t.Errorf("readiness is %d, %q; want 500, %q", code, said, message)
	}
}
