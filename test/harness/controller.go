// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// Controller starts a controller with a token of its service account. faultPoint may be
// empty. It works when it is the leader: [Process.AwaitLeading].
func (e *Env) Controller(t *testing.T, name, faultPoint string, flags ...string) *Process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	config, err := e.ControllerConfig(ctx)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "sw") // short: it holds sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := devcluster.WriteKubeconfig(kubeconfig, config); err != nil {
		t.Fatal(err)
	}
	arguments := append([]string{"--health-probe-bind-address=0", "--socket-dir=" + dir, "-v=2"}, flags...)
	environment := []string{"KUBECONFIG=" + kubeconfig, "SLIPWAY_FAULTPOINT=" + faultPoint}
	return StartProcess(t, "controller "+name, environment, Binary(t, "controller"), arguments...)
}

// AwaitLeading waits until a controller is the leader.
func (p *Process) AwaitLeading() {
	p.t.Helper()
	p.AwaitLog("Successfully acquired lease")
}

// AwaitStandby waits until a controller has begun to wait for the lease.
func (p *Process) AwaitStandby() {
	p.t.Helper()
	p.AwaitLog("Attempting to acquire leader lease")
}

// SetAgentReady makes the pod of the node's agent Ready, or not, as a kubelet does that
// sees its process begin or end. kwok leaves that condition alone once a pod runs.
func (n *Node) SetAgentReady(ready bool) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), Patience)
	defer cancel()
	pod, err := n.env.AgentPod(ctx, n.Name)
	if err != nil {
		n.t.Fatal(err)
	}
	n.awaitRunning(pod)
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":%q,"lastTransitionTime":%q}]}}`,
		status, metav1.Now().UTC().Format(time.RFC3339))
	if err := n.env.Client.Status().Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, []byte(patch))); err != nil {
		n.t.Fatal(err)
	}
}

// awaitRunning waits until kwok has begun to run the pod, after which it leaves its
// conditions to others.
func (n *Node) awaitRunning(pod *corev1.Pod) {
	n.t.Helper()
	Await(n.t, n.env, "pod "+pod.Name+" runs", &corev1.PodList{}, func(p *corev1.Pod) bool {
		return p.Status.Phase == corev1.PodRunning
	}, Named(pod.Name), client.InNamespace(pod.Namespace))
}

// CentralEvictions are the requests for evictions that a controller has made of the
// given pods, also those that were refused.
func (n *Node) CentralEvictions(pods ...*corev1.Pod) []auditlog.Request {
	n.t.Helper()
	names := map[string]bool{}
	for _, pod := range pods {
		names[pod.Name] = true
	}
	user := "system:serviceaccount:" + devcluster.Namespace + ":" + devcluster.ControllerServiceAccount
	return n.requests(func(r auditlog.Request) bool {
		return r.User == user && r.Impersonated == "" && r.Resource == "pods" && r.Subresource == "eviction" && names[r.Name]
	})
}
