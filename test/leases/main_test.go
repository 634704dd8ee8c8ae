// SPDX-License-Identifier: Apache-2.0

package leases

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/nodelease"
	"github.com/slipway-k8s/slipway/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// ground is a cluster on which Slipway takes leases.
type ground struct {
	*harness.Env
	// leases are those of another user than the administrator, who requests the events.
	leases coordinationclient.LeaseInterface
}

// withLeases is a cluster with what is optional for leases, but no controller yet.
func withLeases(t *testing.T) *ground {
	t.Helper()
	env := harness.Own(t, harness.Options{})
	for _, of := range []string{"rbac", "admission"} {
		env.Kubectl(t, "apply", "--server-side", "-f", harness.File(t, "config", of, "leases"))
	}
	clients, err := kubernetes.NewForConfig(as(env, "another"))
	if err != nil {
		t.Fatal(err)
	}
	g := &ground{env, clients.CoordinationV1().Leases(nodelease.Namespace)}
	env.AwaitGate(t)
	return g
}

// control starts a controller that takes leases.
func (g *ground) control(t *testing.T, name, faultPoint string) *harness.Process {
	t.Helper()
	p := g.Controller(t, name, faultPoint, "--node-leases")
	return p
}

// other takes the lease of a node as somebody else.
func (g *ground) other(t *testing.T, node *harness.Node, holder string, d time.Duration) *coordinationv1.Lease {
	t.Helper()
	var n corev1.Node
	if err := g.Client.Get(t.Context(), client.ObjectKey{Name: node.Name}, &n); err != nil {
		t.Fatal(err)
	}
	lease, err := g.leases.Create(t.Context(), nodelease.Take(nil, &n, holder, "testing", d, time.Now()), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// person is a user with all permissions.
type person struct {
	client client.Client
	leases *nodelease.Client
}

func (g *ground) person(t *testing.T, name string) person {
	t.Helper()
	config := as(g.Env, name)
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: g.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return person{c, nodelease.New(clients, clock.RealClock{})}
}

func as(env *harness.Env, user string) *rest.Config {
	config := rest.CopyConfig(env.Admin)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	return config
}

// drain requests a drain of the node.
func (p person) drain(t *testing.T, node *harness.Node, what string) {
	t.Helper()
	event := &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{Name: node.EventName(what)},
		Spec:       lifecyclev1alpha1.LifecycleEventSpec{TransitionName: harness.Drain, BindingNode: node.Name},
	}
	if err := p.client.Create(t.Context(), event); err != nil {
		t.Fatal(err)
	}
}

// give has the lease be given back.
func (g *ground) give(t *testing.T, lease *coordinationv1.Lease) {
	t.Helper()
	if _, err := g.leases.Update(t.Context(), nodelease.Give(lease, time.Now()), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// awaitHolder waits until the Node says that somebody has its lease; nobody, if it is empty.
func awaitHolder(node *harness.Node, holder string) {
	node.Await("is leased to "+holder, func(n *corev1.Node) bool {
		text, said := n.Annotations[nodelease.Annotation]
		if holder == "" {
			return !said
		}
		const begins = `{"holder":"`
		return said && len(text) > len(begins) && text[:len(begins)+len(holder)+1] == begins+holder+`"`
	})
}
