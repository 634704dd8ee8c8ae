// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	leases "github.com/slipway-k8s/slipway/internal/node/lease"
	"github.com/slipway-k8s/slipway/nodelease"
)

var leaseGate = lifecyclev1alpha1.Gate{Name: lifecyclev1alpha1.GateLease}

// lease gives that of a node to somebody, as after no controller was there to keep it, or
// somebody has broken it.
func (w *world) lease(t *testing.T, d *datadriven.TestData) {
	node, holder := d.CmdArgs[0].Key, d.CmdArgs[1].Key
	delete(w.leases, node)
	if holder == "free" {
		return
	}
	held := nodelease.Held{Holder: holder, Since: w.now, Administrator: nodelease.IsAdministrator(holder)}
	for _, arg := range d.CmdArgs[2:] {
		limit, err := time.ParseDuration(arg.Vals[0])
		if err != nil {
			t.Fatal(err)
		}
		held.Until = w.now.Add(limit)
	}
	w.leases[node] = held
}

// hold is what a user does who drains a node, or returns it.
func (w *world) hold(node, user string) {
	n := w.nodes[node]
	n.node.Spec.Unschedulable = user != "free"
	if user == "free" {
		delete(w.held, node)
		n.cordonedFor = nil
		return
	}
	if w.held == nil {
		w.held = map[string]string{}
	}
	w.held[node], n.cordonedFor = user, []types.UID{"theirs"}
}

func (w *world) heldBy(node string) string {
	if user := w.held[node]; user != "" {
		return fmt.Sprintf("user %q", user)
	}
	return ""
}

// holdLeases is what the controller does for the leases of nodes, one step for each.
func (w *world) holdLeases() (did []string) {
	if w.leases == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		if what := w.holdLease(name); what != "" {
			did = append(did, "leases: "+what)
		}
	}
	return did
}

func (w *world) holdLease(name string) string {
	held := w.leases[name]
	is := held.Holder != "" && (held.Until.IsZero() || !w.now.After(held.FreeAfter()))
	switch needed := w.needsLease(name); {
	case is && held.Holder != nodelease.Slipway:
	case is && !needed:
		delete(w.leases, name)
		return "gives back " + name
	case needed && (!is || held.Until.Sub(w.now) <= leases.Duration-leases.RenewAfter):
		w.leases[name] = nodelease.Held{Holder: nodelease.Slipway, Since: w.now, Until: w.now.Add(leases.Duration)}
		if !is {
			return "takes " + name
		}
	}
	if e := w.events[DrainName(name)]; e != nil {
		return w.tellLease(e, w.leases[name])
	}
	return ""
}

func (w *world) needsLease(name string) bool {
	if n := w.nodes[name]; n.node.Spec.Unschedulable && len(n.cordonedFor) > 0 {
		return true
	}
	e, back := w.events[DrainName(name)], w.events[ReturnName(name)]
	return e != nil && (claimed(e) || pending(e) && e.DeletionTimestamp == nil && !gated(e)) || back != nil && claimed(back)
}

// tellLease says who has the lease, and lets the drain pass if it is Slipway.
func (w *world) tellLease(e *lifecyclev1alpha1.LifecycleEvent, held nodelease.Held) string {
	switch {
	case ended(e) || gated(e) || held.Holder == "":
	case held.Holder == nodelease.Slipway:
		w.condition(e, lifecyclev1alpha1.ConditionLeaseHeld, metav1.ConditionTrue, lifecyclev1alpha1.ReasonHeld, "")
		if slices.Contains(e.Spec.Gates, leaseGate) {
			e.Spec.Gates = slices.DeleteFunc(slices.Clone(e.Spec.Gates), func(g lifecyclev1alpha1.Gate) bool { return g == leaseGate })
			e.Generation++
			return "lets pass " + e.Name
		}
	default:
		reason := lifecyclev1alpha1.ReasonHeldByAnother
		if claimed(e) {
			reason = lifecyclev1alpha1.ReasonLeaseLost
		}
		w.condition(e, lifecyclev1alpha1.ConditionLeaseHeld, metav1.ConditionFalse, reason, fmt.Sprintf("node %q is leased to %q", e.Spec.BindingNode, held.Holder))
	}
	return ""
}

// checkLease wants that nothing is begun on a node that somebody else has leased, and that it
// is not put back.
func (w *world) checkLease(t *rapid.T, step Step) {
	node, does := "", ""
	switch s := step.(type) {
	case CreateJob:
		node, does = s.Job.Annotations[annotationNode], "begins a Job"
	case CreateEvent:
		if s.Event.Name == ReturnName(s.Event.Spec.BindingNode) {
			node, does = s.Event.Spec.BindingNode, "returns it"
		}
	case DeleteEvent:
		if claimed(s.Event) && ParametersOf(s.Event).Hold {
			node, does = s.Event.Spec.BindingNode, "cancels its drain"
		}
	case ChangeEvent:
		before, after := ParametersOf(s.Seen), ParametersOf(s.Changed)
		switch {
		case !claimed(s.Seen):
		case before.Hold && !after.Hold:
			node, does = s.Seen.Spec.BindingNode, "ends its drain"
		case slices.ContainsFunc(after.Targets, func(t slipwayv1alpha1.DrainTarget) bool {
			return targetsOf(s.Changed) != nil && !slices.ContainsFunc(before.Targets, func(b slipwayv1alpha1.DrainTarget) bool {
				return equality.Semantic.DeepEqual(t, b)
			})
		}):
			node, does = s.Seen.Spec.BindingNode, "drains more of it"
		}
	}
	if n := w.nodes[node]; n == nil {
		return // whatever it is, it ends with its Node
	}
	if held := w.leases[node]; held.Holder != "" && held.Holder != nodelease.Slipway && !w.now.After(held.FreeAfter()) {
		t.Fatalf("node %s is leased to %s, and Slipway %s: %s", node, held.Holder, does, describe(step))
	}
}
