// SPDX-License-Identifier: Apache-2.0

package oversight

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/node/freeze"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// Guarded returns whether an event waits for the guards.
func Guarded(e *lifecyclev1alpha1.LifecycleEvent) bool {
	waits := e.Status.ClaimStatus == "" || e.Status.ClaimStatus == lifecyclev1alpha1.Pending
	return waits && e.DeletionTimestamp == nil &&
		slices.Contains(e.Spec.Gates, lifecyclev1alpha1.Gate{Name: lifecyclev1alpha1.GateGuards})
}

// guard removes the gate of the guards when they let the event pass; until then, it records the objection. It decides when no
// other gate is left, directly before the claim.
func guard(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) Decision {
	if !Guarded(e) || len(e.Spec.Gates) > 1 || leaseLost(f, e) {
		return Decision{}
	}
	if lifecycleevent.ReturnsNode(e, f.Transitions) {
		return giveBack(f, e, now)
	}
	if message := freeze.Objection(f.Freezes, f.Node.Labels); message != "" && holds(f, e) {
		return note(e, lifecyclev1alpha1.ConditionGuardsPassed, metav1.ConditionFalse, lifecyclev1alpha1.ReasonFrozen,
			reasons.Advised(lifecyclev1alpha1.ConditionGuardsPassed, lifecyclev1alpha1.ReasonFrozen, message), now)
	}
	if reason, message := heldBack(f, e); reason != "" {
		return note(e, lifecyclev1alpha1.ConditionGuardsPassed, metav1.ConditionFalse, reason,
			reasons.Advised(lifecyclev1alpha1.ConditionGuardsPassed, reason, message), now)
	}
	if message := exhausted(f, e); message != "" {
		return note(e, lifecyclev1alpha1.ConditionGuardsPassed, metav1.ConditionFalse, lifecyclev1alpha1.ReasonNodeAvailabilityBudget,
			reasons.Advised(lifecyclev1alpha1.ConditionGuardsPassed, lifecyclev1alpha1.ReasonNodeAvailabilityBudget, message), now)
	}
	reason, message := lifecyclev1alpha1.ReasonPassed, ""
	for _, o := range objections(f) {
		if o.guard == lifecyclev1alpha1.GuardLastSchedulableNode && f.OnlyNode && !f.StrictGuards {
			reason, message = lifecyclev1alpha1.ReasonOnlyNode,
				fmt.Sprintf("node %q is the only Node of the cluster: evicted pods stay Pending until the node returns to service", f.NodeName)
			continue
		}
		if !slices.Contains(e.Spec.Allow, o.guard) {
			return note(e, lifecyclev1alpha1.ConditionGuardsPassed, metav1.ConditionFalse, string(o.guard),
				reasons.Advised(lifecyclev1alpha1.ConditionGuardsPassed, string(o.guard), o.message), now)
		}
		reason, message = lifecyclev1alpha1.ReasonAllowed, fmt.Sprintf("spec.allow lists %s", o.guard)
	}
	// First the note: no other process writes the status before the gate is removed.
	return note(e, lifecyclev1alpha1.ConditionGuardsPassed, metav1.ConditionTrue, reason, message, now).
		Or(takeOver(f, e)).
		Or(do(RemoveGate{Event: e, Holds: holds(f, e)}))
}

// leaseLost returns whether the event has passed the gate of leases, and another holder has acquired the node's lease since.
// The guards let the event pass when Slipway holds the lease again.
func leaseLost(f Facts, e *lifecyclev1alpha1.LifecycleEvent) bool {
	c := lifecycleevent.Condition(e, lifecyclev1alpha1.ConditionLeaseHeld)
	return f.NodeLeases && c != nil && c.Status == metav1.ConditionFalse
}

// objection is the cause for which a guard holds an event.
type objection struct {
	guard   lifecyclev1alpha1.Guard
	message string
}

func objections(f Facts) []objection {
	var all []objection
	self, leaving := PeerOf(f.Node, len(f.CordonedFor) > 0), Leaving(f)
	// A node that accepts no pods now makes no difference.
	if self.Usable() {
		if left := countPeers(f, leaving); left.usable == 0 {
			all = append(all, objection{lifecyclev1alpha1.GuardLastSchedulableNode, fmt.Sprintf(
				"node %q is the last one that pods can go to (%d others; %s)",
				f.NodeName, len(f.Peers), left)})
		}
	}
	if self.ControlPlane {
		if out := controlPlaneOut(f, leaving); len(out) > 0 {
			all = append(all, objection{lifecyclev1alpha1.GuardSecondControlPlaneNode, fmt.Sprintf(
				"node %q is of the control plane, of which %s out already, or not Ready, or about to be taken out",
				f.NodeName, isOrAre(out))})
		}
	}
	return all
}

// controlPlaneOut returns the other control plane nodes that Slipway takes out or has taken out, and the nodes that are not
// Ready: of three nodes, two are the quorum.
func controlPlaneOut(f Facts, leaving map[string]bool) []string {
	var out []string
	for _, p := range f.Peers {
		if p.ControlPlane && (!p.Ready || p.Cordoned || leaving[p.Name]) {
			out = append(out, p.Name)
		}
	}
	slices.Sort(out)
	return out
}

func isOrAre(names []string) string {
	const shown = 5
	if len(names) == 1 {
		return names[0] + " is"
	}
	if len(names) > shown {
		return fmt.Sprintf("%s and %d more are", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ") + " are"
}

// Leaving returns the other nodes that an event takes out, or is about to take out. An event without gates counts as well, and
// an event that the guards let pass: otherwise two events that are created at the same moment would both pass.
func Leaving(f Facts) map[string]bool {
	leaving := map[string]bool{}
	for _, e := range f.PeerEvents {
		if takesOut(f, e) {
			leaving[e.Spec.BindingNode] = true
		}
	}
	return leaving
}

// takesOut returns whether the event takes its node out of service, or will after its claim. The work of a driver is unknown:
// each event counts that does not return a node.
func takesOut(f Facts, e *lifecyclev1alpha1.LifecycleEvent) bool {
	if lifecycleevent.ReturnsNode(e, f.Transitions) || e.Status.ClaimStatus.Terminal() {
		return false
	}
	return e.Status.ClaimStatus == lifecyclev1alpha1.Claimed || len(e.Spec.Gates) == 0 && e.DeletionTimestamp == nil || LetPass(e)
}
