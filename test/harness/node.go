// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/internal/devcluster"
)

// GroupLabel is a label of a test's nodes and a node selector of its pods, so that
// tests do not get each other's pods.
const GroupLabel = "slipway.test/group"

var nodeCount atomic.Int32

// Node is a simulated node of a test's own, and what runs on it.
type Node struct {
	Name string
	// Dir holds the sockets and credentials of the node. Its path is short: a unix
	// socket's must be.
	Dir string

	env      *Env
	t        *testing.T
	promises *promises
}

// Node creates a node in the given group, and waits until it is ready and its
// agent's pod is there.
func (e *Env) Node(t *testing.T, group string) *Node {
	t.Helper()
	name := fmt.Sprintf("%s-%d", nameOf(t), nodeCount.Add(1))
	dir, err := os.MkdirTemp("", "sw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods: resource.MustParse("500"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{GroupLabel: group, corev1.LabelHostname: name, corev1.LabelOSStable: "linux"},
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		},
		// Where there is no boot ID, who simulates the node writes an empty one, and maybe twice: also
		// over one that a test has written meanwhile.
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity, NodeInfo: corev1.NodeSystemInfo{BootID: name + "-boot-1"}},
	}
	from := e.changesSoFar(t)
	if err := e.Client.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.deleteQuietly(node) })
	n := &Node{Name: name, Dir: dir, env: e, t: t}
	n.keepPromises(from)
	n.Await("is ready", func(node *corev1.Node) bool {
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady {
				return c.Status == corev1.ConditionTrue
			}
		}
		return false
	})
	return n
}

// nameOf is the name of a test as the name of an object.
func nameOf(t *testing.T) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(strings.TrimPrefix(t.Name(), "Test")))
	return strings.Trim(name[:min(len(name), 40)], "-")
}

func (e *Env) deleteQuietly(object client.Object) {
	// The cluster may be gone already, and the object as well.
	_ = e.Client.Delete(context.Background(), object, client.GracePeriodSeconds(0))
}

// Agent starts the node's agent, with the token of its pod. faultPoint may be empty.
func (n *Node) Agent(faultPoint string, flags ...string) *Process {
	n.t.Helper()
	arguments := append([]string{
		"--node-name=" + n.Name, "--health-probe-bind-address=0", "-v=2",
		"--plugin-registration-path=" + n.RegistrationDir(), "--datadir=" + n.DataDir(),
	}, flags...)
	return StartProcess(n.t, "agent of "+n.Name, n.environment(faultPoint), Binary(n.t, "node-agent"), arguments...)
}

// Driver starts the drain driver as a process of its own.
func (n *Node) Driver(faultPoint string, flags ...string) *Process {
	n.t.Helper()
	arguments := append([]string{
		"kubelet-plugin", "--node-name=" + n.Name, "-v=2",
		"--plugin-registration-path=" + n.RegistrationDir(), "--datadir=" + n.DataDir(),
	}, flags...)
	return StartProcess(n.t, "driver of "+n.Name, n.environment(faultPoint), Binary(n.t, "drain-driver"), arguments...)
}

// RegistrationDir is where drivers register with the node's agent.
func (n *Node) RegistrationDir() string { return filepath.Join(n.Dir, "r") }

// DataDir is where drivers have their sockets.
func (n *Node) DataDir() string { return filepath.Join(n.Dir, "d") }

func (n *Node) environment(faultPoint string) []string {
	return []string{"KUBECONFIG=" + n.Kubeconfig(), "SLIPWAY_FAULTPOINT=" + faultPoint}
}

// Credentials are those of the node's agent.
func (n *Node) Credentials() *rest.Config {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), Patience)
	defer cancel()
	config, err := n.env.AgentConfig(ctx, n.Name)
	if err != nil {
		n.t.Fatal(err)
	}
	return config
}

// Kubeconfig is the path of a kubeconfig with the credentials of the node's agent.
func (n *Node) Kubeconfig() string {
	n.t.Helper()
	path := filepath.Join(n.Dir, "kubeconfig")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if err := devcluster.WriteKubeconfig(path, n.Credentials()); err != nil {
		n.t.Fatal(err)
	}
	return path
}

// ForgetCredentials is for a new pod of the node's agent: processes that are started from
// now on have its token.
func (n *Node) ForgetCredentials() {
	n.t.Helper()
	if err := os.Remove(filepath.Join(n.Dir, "kubeconfig")); err != nil {
		n.t.Fatal(err)
	}
}
