// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/nodelease"
	"github.com/slipway-k8s/slipway/test/harness"
)

const (
	// toolName is another tool's: it authenticates so, and holds leases so.
	toolName = "fwup.example.com"
	// toolLease is for how long it takes them.
	toolLease = 10 * time.Minute
)

// tool works on nodes as well, as others do who have nothing of Slipway but its package.
type tool struct {
	c       *scene
	clients kubernetes.Interface
	leases  *nodelease.Client
	random  *rand.Rand
}

func newTool(c *scene, random *rand.Rand) *tool {
	c.t.Helper()
	c.env.Shell(c.t, `
kubectl create rolebinding fwup --namespace=`+nodelease.Namespace+` --role=slipway-lease-holder --user=`+toolName+`
kubectl create clusterrole fwup --verb=get,patch --resource=nodes
kubectl create clusterrolebinding fwup --clusterrole=fwup --user=`+toolName)
	config := rest.CopyConfig(c.env.Admin)
	config.WarningHandler = rest.NoWarnings{}
	config.Impersonate = rest.ImpersonationConfig{UserName: toolName}
	clients, err := kubernetes.NewForConfig(config)
	c.must(err)
	return &tool{c: c, clients: clients, leases: nodelease.New(clients, clock.RealClock{}), random: random}
}

// takeTurns works on one node after the other. With some it is quick; others it keeps until
// Slipway waits for them, or is done with them.
func (o *tool) takeTurns(t *testing.T, maintenances map[string][]*Maintenance) {
	waits, waited := 0, 0
	for range turns {
		node, patient := o.c.nodes[o.random.IntN(len(o.c.nodes))], o.random.IntN(2) == 0
		t.Logf("node %s, until somebody waits for it: %t", node, patient)
		waits += o.acquire(t, node)
		o.cordon(t, node, true)
		wanted := maintenances[node]
		if patient && waitsOrIsOver(wanted[o.random.IntN(len(wanted))], node) {
			waited++
		}
		o.release(t, node)
	}
	t.Logf("of %d turns, it waited for %d, and Slipway for %d", turns, waits, waited)
}

// acquire takes the lease of a node when it is free, and says how often it was not.
func (o *tool) acquire(t *testing.T, node string) (waits int) {
	t.Helper()
	for {
		_, err := o.leases.Acquire(t.Context(), node, toolName, "firmware", toolLease)
		if err == nil {
			return waits
		}
		if taken, is := errors.AsType[*nodelease.TakenError](err); !is || taken.Held.Holder != nodelease.Slipway {
			t.Fatal(err)
		}
		waits++
		harness.Await(t, o.c.env, "the lease of node "+node+" is free", &coordinationv1.LeaseList{}, func(l *coordinationv1.Lease) bool {
			_, is := nodelease.Read(l, time.Now())
			return !is
		}, harness.Named(node), client.InNamespace(nodelease.Namespace))
	}
}

// release puts a node back, and gives its lease back then.
func (o *tool) release(t *testing.T, node string) {
	t.Helper()
	o.cordon(t, node, false)
	if err := o.leases.Release(t.Context(), node, toolName); err != nil {
		t.Fatal(err)
	}
}

func (o *tool) cordon(t *testing.T, node string, off bool) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, off)
	if _, err := o.clients.CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// refused: Slipway has the node, and keeps it.
func (o *tool) refused(t *testing.T, node string) {
	t.Helper()
	_, err := o.leases.Acquire(t.Context(), node, toolName, "firmware", toolLease)
	if taken, is := errors.AsType[*nodelease.TakenError](err); !is || taken.Held.Holder != nodelease.Slipway {
		t.Errorf("the lease of node %s, on which a Job runs: %v", node, err)
	}
}

// waitsOrIsOver waits until a maintenance waits for a node that the tool has, or has ended,
// and says whether it waits.
func waitsOrIsOver(m *Maintenance, node string) (waits bool) {
	m.Await("waits for node "+node+", or is over", func(o *slipwayv1alpha1.NodeMaintenance) bool {
		for _, n := range o.Status.NodeStatuses {
			atTheDoor, afterwards := strings.Contains(n.Message, toolName), n.Reason == slipwayv1alpha1.ReasonNodeCordoned
			waits = waits || n.Name == node && (atTheDoor || afterwards)
		}
		return waits || meta.IsStatusConditionTrue(o.Status.Conditions, slipwayv1alpha1.MaintenanceCompleted)
	})
	return waits
}

// takesLeases puts what is optional for leases on a cluster, and waits until new events get
// the gate.
func takesLeases(t *testing.T, env *harness.Env) {
	t.Helper()
	for _, of := range []string{"rbac", "admission"} {
		env.Kubectl(t, "apply", "--server-side", "-f", harness.File(t, "config", of, "leases"))
	}
	env.AwaitGate(t)
}
