// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/internal/devcluster"
)

// Worker is a node that the cluster came with, such as worker-1, put into the given
// group.
func (e *Env) Worker(t *testing.T, name, group string) *Node {
	t.Helper()
	dir, err := os.MkdirTemp("", "sw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+GroupLabel+`":"`+group+`"}}}`))
	if err := e.Client.Patch(t.Context(), node, patch); err != nil {
		t.Fatal(err)
	}
	n := &Node{Name: name, Dir: dir, env: e, t: t}
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

// Restart stops the whole control plane and starts it with other flags for the
// launcher. What was stored is there again, at the same address.
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
