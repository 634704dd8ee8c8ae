// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

// Node creates a node in the given group, and waits until it is ready and its agent's pod exists.
func (e *Env) Node(t *testing.T, group string) *Node {
	t.Helper()
	name := fmt.Sprintf("%s-%d", nameOf(t), nodeCount.Add(1))
	node := newNode(name, group)
	node.Annotations = simulated()
	// Without a boot ID, kwok writes an empty one, maybe twice: also over one that a test has
	// written meanwhile.
	node.Status.NodeInfo.BootID = name + "-boot-1"
	dir, from := shortDir(t), e.changesSoFar(t)
	e.Create(t, node)
	n := &Node{Name: name, Dir: dir, env: e, t: t}
	n.keepPromises(from)
	n.Await("is ready", isReady)
	return n
}

func newNode(name, group string) *corev1.Node {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"), corev1.ResourcePods: resource.MustParse("500"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{GroupLabel: group, corev1.LabelHostname: name, corev1.LabelOSStable: "linux"},
		},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
}

// simulated are the annotations of a node that kwok simulates.
func simulated() map[string]string { return map[string]string{"kwok.x-k8s.io/node": "fake"} }

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// shortDir is a directory for sockets, whose paths must be short. It goes with the test.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
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

// Agent starts the node's agent, with the token of its pod. faultPoint may be empty.
func (n *Node) Agent(faultPoint string, flags ...string) *Process {
	n.t.Helper()
	arguments := []string{"--node-name=" + n.Name, "--health-probe-bind-address=0", "-v=2", "--plugin-registration-path=" + n.RegistrationDir()}
	arguments = append(append(arguments, n.actAs()...), flags...)
	return StartProcess(n.t, "agent of "+n.Name, n.environment(faultPoint), Binary(n.t, "node-agent"), arguments...)
}

// Driver starts the drain driver as a separate process.
func (n *Node) Driver(faultPoint string, flags ...string) *Process {
	n.t.Helper()
	arguments := []string{
		"kubelet-plugin", "--node-name=" + n.Name, "-v=2", "--plugin-registration-path=" + n.RegistrationDir(), "--datadir=" + n.DataDir(),
	}
	arguments = append(append(arguments, n.actAs()...), flags...)
	return StartProcess(n.t, "driver of "+n.Name, n.environment(faultPoint), Binary(n.t, "drain-driver"), arguments...)
}

// actAs is the flag for a server without constrained impersonation.
func (n *Node) actAs() []string {
	if n.env.Reduced() {
		return []string{"--act-as=self"}
	}
	return nil
}

// RegistrationDir is the directory in which drivers register with the node's agent.
func (n *Node) RegistrationDir() string { return filepath.Join(n.Dir, "r") }

// DataDir is the directory of the drivers' sockets.
func (n *Node) DataDir() string { return filepath.Join(n.Dir, "d") }

func (n *Node) environment(faultPoint string) []string {
	return []string{"KUBECONFIG=" + n.Kubeconfig(), "SLIPWAY_FAULTPOINT=" + faultPoint}
}

// Credentials returns the credentials of the node's agent.
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

// Worker is a node that the cluster came with, such as worker-1, put into the given
// group.
func (e *Env) Worker(t *testing.T, name, group string) *Node {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+GroupLabel+`":"`+group+`"}}}`))
	if err := e.Client.Patch(t.Context(), node, patch); err != nil {
		t.Fatal(err)
	}
	n := &Node{Name: name, Dir: shortDir(t), env: e, t: t}
	n.keepPromises(0)
	return n
}

// In is the same cluster, with LifecycleEvents in another API group.
func (e *Env) In(t *testing.T, group string) *Env {
	t.Helper()
	other := *e
	other.Group = group
	var err error
	if other.Client, err = other.newClient(); err != nil {
		t.Fatal(err)
	}
	return &other
}

// In is the same node, with LifecycleEvents in another API group.
func (n *Node) In(group string) *Node {
	n.t.Helper()
	other := *n
	other.env = n.env.In(n.t, group)
	return &other
}

// Restart stops the whole control plane and starts it with other flags for the launcher, with the same data and the
// same address.
func (e *Env) Restart(t *testing.T, launcherArgs ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	for _, component := range []string{"kwok", "kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd"} {
		if err := e.Stop(ctx, component); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := devcluster.Up(ctx, devcluster.Options{Dir: e.Facts.Dir, Nodes: 1, Args: launcherArgs}); err != nil {
		t.Fatal(err)
	}
}

// Fleet creates simulated nodes in the group, one for each set of labels, and returns their names when all are ready:
// kwok knows them, and runs pods that are bound to them. The audit log is not checked for them without
// [Env.KeepAllPromises].
func (e *Env) Fleet(t *testing.T, group string, labels []map[string]string) []string {
	t.Helper()
	nodes := e.createNodes(t, group, labels, func(node *corev1.Node) { node.Annotations = simulated() })
	e.AwaitAll(t, "node", &corev1.NodeList{}, nodes, func(o client.Object) bool { return isReady(o.(*corev1.Node)) },
		client.MatchingLabels{GroupLabel: group})
	return nodes
}

// Bystanders creates nodes that kwok does not simulate: they are Ready, and never change. They stay Ready where the
// control plane is patient.
func (e *Env) Bystanders(t *testing.T, group string, count int) []string {
	t.Helper()
	return e.createNodes(t, group, make([]map[string]string, count), func(node *corev1.Node) {
		node.Status.Conditions = []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
		}}
	})
}

// atATime is the number of simultaneous requests of the harness.
const atATime = 16

func (e *Env) createNodes(t *testing.T, group string, labels []map[string]string, change func(*corev1.Node)) (names []string) {
	t.Helper()
	var nodes []*corev1.Node
	for i := range labels {
		node := newNode(fmt.Sprintf("%s-%d", group, nodeCount.Add(1)), group)
		maps.Copy(node.Labels, labels[i])
		change(node)
		nodes, names = append(nodes, node), append(names, node.Name)
	}
	t.Cleanup(func() {
		all := client.MatchingLabels{GroupLabel: group}
		_ = e.Client.DeleteAllOf(context.Background(), &corev1.Node{}, all) // the cluster may no longer exist
	})
	SideBySide(t, len(nodes), func(i int) error { return e.Client.Create(t.Context(), nodes[i]) })
	return names
}

// SideBySide does something many times, some at a time, and fails the test if one fails.
func SideBySide(t *testing.T, times int, do func(i int) error) {
	t.Helper()
	var doing errgroup.Group
	doing.SetLimit(atATime)
	for i := range times {
		doing.Go(func() error { return do(i) })
	}
	if err := doing.Wait(); err != nil {
		t.Fatal(err)
	}
}
