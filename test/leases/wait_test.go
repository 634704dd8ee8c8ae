// SPDX-License-Identifier: Apache-2.0

package leases

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/nodelease"
	"github.com/slipway-k8s/slipway/test/harness"
)

const held, byAnother = lifecyclev1alpha1.ReasonHeld, lifecyclev1alpha1.ReasonHeldByAnother

// TestADrainWaitsForWhoWorksOnTheNode: until they give the lease back, and where they do not,
// until it has expired.
func TestADrainWaitsForWhoWorksOnTheNode(t *testing.T) {
	t.Parallel()
	g := withLeases(t)
	g.control(t, "leader", "").AwaitLeading()
	t.Run("given back", func(t *testing.T) { g.waits(t, time.Hour, true) })
	t.Run("expired", func(t *testing.T) { g.waits(t, 2*time.Second, false) })
	t.Run("a person", g.waitsForAPerson)
	t.Run("forged", g.refusesForgeries)
	t.Run("warned", g.warns)
	t.Run("the requester", g.passesForItsHolder)
}

func (g *ground) waits(t *testing.T, d time.Duration, givesBack bool) {
	node := g.Node(t, "wait")
	node.Agent("")
	lease := g.other(t, node, "upgrader", d)
	awaitHolder(node, "upgrader")
	event := node.Event(node.EventName("drain"), harness.Drain)
	e := g.AwaitCondition(t, event.Name, lifecyclev1alpha1.ConditionLeaseHeld, byAnother, node.Name, `"upgrader"`, `"testing"`)
	if e.Status.ClaimStatus == lifecyclev1alpha1.Claimed || len(e.Spec.Gates) != 1 {
		t.Errorf("it is %s, with gates %v", e.Status.ClaimStatus, e.Spec.Gates)
	}
	free := time.Now()
	if givesBack {
		g.give(t, lease)
	} else {
		free = lease.Spec.RenewTime.Add(d + nodelease.Skew)
	}
	g.AwaitEventGone(t, event.Name)
	awaitHolder(node, nodelease.Slipway)
	ours, err := g.leases.Get(t.Context(), node.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if taken := ours.Spec.AcquireTime.Time; taken.Before(free) {
		t.Errorf("taken at %s, and it was free at %s", taken, free)
	}
	if *ours.Spec.LeaseTransitions != 1 {
		t.Errorf("it had %d transitions", *ours.Spec.LeaseTransitions)
	}
	back := node.Event(node.EventName("return"), harness.Return)
	if len(back.Spec.Gates) != 0 {
		t.Errorf("the way back has gates %v", back.Spec.Gates)
	}
	g.AwaitEventGone(t, back.Name)
	awaitHolder(node, "")
	g.heldAllTheWhile(t, node)
}

// waitsForAPerson: a lease of theirs does not expire.
func (g *ground) waitsForAPerson(t *testing.T) {
	node := g.Node(t, "person")
	lease := g.other(t, node, "kubeadmin-ada", time.Second)
	event := node.Event(node.EventName("drain"), harness.Drain)
	g.AwaitCondition(t, event.Name, lifecyclev1alpha1.ConditionLeaseHeld, byAnother, `"kubeadmin-ada"`, "until its holder releases it")
	g.give(t, lease)
	g.AwaitCondition(t, event.Name, lifecyclev1alpha1.ConditionLeaseHeld, held)
	g.AwaitEvent(t, event.Name, "has no gate", func(e *lifecyclev1alpha1.LifecycleEvent) bool { return len(e.Spec.Gates) == 0 })
	g.Delete(t, event)
	awaitHolder(node, "")
}

// passesForItsHolder: the user that holds the lease drains with Slipway at once, and every other user waits. The name of
// the holder and the record of the user, as a client writes them, decide nothing.
func (g *ground) passesForItsHolder(t *testing.T) {
	node := g.Node(t, "requester")
	node.Agent("")
	ada, eve := g.person(t, "ada"), g.person(t, "eve")
	if _, err := eve.leases.Acquire(t.Context(), node.Name, nodelease.Slipway, "forged", time.Hour); err == nil || !strings.Contains(err.Error(), "choose another name") {
		t.Errorf("eve acquires the lease as slipway: %v", err)
	}
	if _, err := ada.leases.Acquire(t.Context(), node.Name, "kubeadmin-ada", "new disk", time.Hour); err != nil {
		t.Fatal(err)
	}
	awaitHolder(node, "kubeadmin-ada")
	eve.drain(t, node, "eves")
	g.AwaitCondition(t, node.EventName("eves"), lifecyclev1alpha1.ConditionLeaseHeld, byAnother, `"kubeadmin-ada"`)
	forged := g.Shell(t, "kubectl annotate lease "+node.Name+" --namespace="+nodelease.Namespace+" --as=eve --as-group=system:masters --overwrite "+
		nodelease.WriterAnnotation+"=ada --dry-run=server -o jsonpath='{.metadata.annotations}'")
	if !strings.Contains(forged, `"eve"`) || strings.Contains(forged, `"ada"`) {
		t.Errorf("eve records another user: %s", forged)
	}
	ada.drain(t, node, "adas")
	g.AwaitEventGone(t, node.EventName("adas")) // drained
	if held, err := ada.leases.Get(t.Context(), node.Name); err != nil || held.Held.Holder != "kubeadmin-ada" || held.Held.User != "ada" {
		t.Errorf("the lease is %+v, %v", held, err)
	}
	if err := ada.leases.Release(t.Context(), node.Name, "kubeadmin-ada"); err != nil {
		t.Fatal(err)
	}
	awaitHolder(node, nodelease.Slipway)
	g.AwaitEventGone(t, node.EventName("eves")) // nobody has leased the node any more
	back := node.Event(node.EventName("return"), harness.Return)
	g.AwaitEventGone(t, back.Name)
}

// refusesForgeries: nobody opens the gate or says who holds a lease but the controller.
func (g *ground) refusesForgeries(t *testing.T) {
	node := g.Node(t, "forged")
	lease := g.other(t, node, "upgrader", time.Hour)
	awaitHolder(node, "upgrader")
	event := node.Event(node.EventName("drain"), harness.Drain)
	g.AwaitCondition(t, event.Name, lifecyclev1alpha1.ConditionLeaseHeld, byAnother)
	g.Kubectl(t, "create", "clusterrole", "forger-"+node.Name, "--verb=get,patch", "--resource=lifecycleevents.lifecycle.k8s.io,nodes")
	g.Kubectl(t, "create", "clusterrolebinding", "forger-"+node.Name, "--clusterrole=forger-"+node.Name, "--user=forger")
	for what, arguments := range map[string][]string{
		"slipway.dev/lease is removed by":                  {"patch", "lifecycleevent", event.Name, "--type=merge", "-p", `{"spec":{"gates":null}}`},
		"metadata: slipway.dev/node-lease: Slipway writes": {"annotate", "node", node.Name, nodelease.Annotation + "-"},
		"slipway.dev/node-lease: Slipway writes these":     {"annotate", "node", node.Name, "--overwrite", nodelease.Annotation + `={"holder":"forger"}`},
	} {
		refusal := g.Shell(t, "! kubectl --as=forger "+quoted(arguments)+" 2>&1")
		if !strings.Contains(refusal, what) {
			t.Errorf("%v: it says %s", arguments, refusal)
		}
	}
	g.give(t, lease)
	g.Delete(t, event)
	awaitHolder(node, "")
}

func quoted(arguments []string) string {
	return "'" + strings.Join(arguments, "' '") + "'"
}

// warns: who cordons or deletes a leased node with kubectl is told, and refused where that is
// wanted.
func (g *ground) warns(t *testing.T) {
	node := g.Node(t, "warned")
	lease := g.other(t, node, "upgrader", time.Hour)
	awaitHolder(node, "upgrader")
	const warning = "somebody else works on node"
	for _, verb := range []string{"cordon", "uncordon"} {
		if said := g.Shell(t, "kubectl "+verb+" "+node.Name+" 2>&1"); !strings.Contains(said, "Warning: ") || !strings.Contains(said, warning) {
			t.Errorf("kubectl %s says %s", verb, said)
		}
	}
	g.Kubectl(t, "patch", "validatingadmissionpolicybinding", "node-leases.slipway.dev", "--type=merge", "-p", `{"spec":{"validationActions":["Deny"]}}`)
	// It is in force when no watch shows it.
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := g.Client.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name}}, client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), warning), nil
	})
	if err != nil {
		t.Fatal("nobody is refused:", err)
	}
	g.give(t, lease)
	awaitHolder(node, "")
	g.Shell(t, "kubectl cordon "+node.Name+" && kubectl uncordon "+node.Name)
}
