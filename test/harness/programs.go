// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// binaries are the programs under test: with the race detector, and with fault points. They
// stay where they are, so that the tests of the next package need not link them again.
var binaries struct {
	once sync.Once
	dir  string
	err  error
}

// Binary is the path of a program of this repository: "node-agent", "drain-driver".
func Binary(t *testing.T, name string) string {
	t.Helper()
	binaries.once.Do(func() { binaries.err = build() })
	if binaries.err != nil {
		t.Fatal(binaries.err)
	}
	return filepath.Join(binaries.dir, name)
}

// build builds the programs, one process at a time.
func build() error {
	root, err := devcluster.Root()
	if err != nil {
		return err
	}
	binaries.dir = filepath.Join(root, ".cache", "under-test")
	if err := os.MkdirAll(binaries.dir, 0o700); err != nil {
		return err
	}
	turn, err := os.OpenFile(filepath.Join(binaries.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer turn.Close() // which unlocks it
	if err := unix.Flock(int(turn.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("wait for those who build %s: %w", binaries.dir, err)
	}
	command := exec.Command("go", "build", "-race", "-tags=faultpoints", "-o", binaries.dir+"/", "./cmd/...", "./examples/...")
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs under test: %w\n%s", err, out)
	}
	return nil
}

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
	dir := shortDir(t)
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := devcluster.WriteKubeconfig(kubeconfig, config); err != nil {
		t.Fatal(err)
	}
	arguments := append([]string{"--health-probe-bind-address=0", "-v=2"}, flags...)
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

// awaitRunning waits until kwok has begun to run the pod: from then on it does not change the conditions.
func (n *Node) awaitRunning(pod *corev1.Pod) {
	n.t.Helper()
	Await(n.t, n.env, "pod "+pod.Name+" runs", &corev1.PodList{}, func(p *corev1.Pod) bool {
		return p.Status.Phase == corev1.PodRunning
	}, Named(pod.Name), client.InNamespace(pod.Namespace))
}

// CentralEvictions returns a controller's requests for evictions of the given pods, also refused ones.
func (n *Node) CentralEvictions(pods ...*corev1.Pod) []auditlog.Request {
	n.t.Helper()
	names := map[string]bool{}
	for _, pod := range pods {
		names[pod.Name] = true
	}
	user := "system:serviceaccount:" + devcluster.Namespace + ":" + devcluster.ControllerServiceAccount
	return n.env.logged(n.t, func(r auditlog.Request) bool {
		return r.User == user && r.Impersonated == "" && r.Resource == "pods" && r.Subresource == "eviction" && names[r.Name]
	})
}

// hostAccount is the service account of slipway-host, its DaemonSet's name and its pods' label.
const hostAccount = "slipway-host"

// Hosts installs the permissions of slipway-host, and a pod on each node, which its token belongs to. The test starts
// the processes.
func (e *Env) Hosts(t *testing.T) {
	t.Helper()
	e.Kubectl(t, "apply", "--server-side", "-f", File(t, "config", "rbac", "host"))
	labels := map[string]string{"app": hostAccount}
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: hostAccount, Namespace: devcluster.Namespace},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					ServiceAccountName: hostAccount,
					Containers:         []corev1.Container{{Name: "host", Image: "slipway.dev/slipway-host:local"}},
					Tolerations:        []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
				},
			},
		},
	}
	e.Create(t, set)
}

// HostCredentials returns the credentials of slipway-host on the node: a token that is bound to its pod.
func (n *Node) HostCredentials() *rest.Config {
	n.t.Helper()
	pod := Await(n.t, n.env, "slipway-host has a pod on "+n.Name, &corev1.PodList{}, func(p *corev1.Pod) bool {
		return p.DeletionTimestamp == nil
	}, client.InNamespace(devcluster.Namespace), client.MatchingLabels{"app": hostAccount}, client.MatchingFields{"spec.nodeName": n.Name})
	config, err := n.env.TokenOf(context.WithoutCancel(n.t.Context()), hostAccount, pod)
	if err != nil {
		n.t.Fatal(err)
	}
	return config
}

// Host starts slipway-host on the node, with the bus of a logind. Later flags count.
func (n *Node) Host(bus string, flags ...string) *Process {
	n.t.Helper()
	kubeconfig := filepath.Join(n.Dir, "host-kubeconfig")
	if err := devcluster.WriteKubeconfig(kubeconfig, n.HostCredentials()); err != nil {
		n.t.Fatal(err)
	}
	arguments := append([]string{"--node-name=" + n.Name, "--system-bus=" + bus, "--health-probe-bind-address=0", "-v=2"}, flags...)
	return StartProcess(n.t, "slipway-host of "+n.Name, []string{"KUBECONFIG=" + kubeconfig}, Binary(n.t, "slipway-host"), arguments...)
}
