// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
)

// Two claimers act on the events of one node: its agent, for the drivers on the node, and the controller, for the drivers
// that are registered with it. They share no memory: the controller marks transitions, the agent lists its drivers on the
// Node, and each reads the other's record before it claims.

// Concerns returns whether this claimer acts on the event, or reports on it. No event concerns both claimers.
func Concerns(f Facts, e *lifecyclev1alpha1.LifecycleEvent) bool { return concerns(&f, e) }

func concerns(f *Facts, e *lifecyclev1alpha1.LifecycleEvent) bool {
	if e.Status.ClaimedBy != nil && !lifecycleevent.HasForeignClaim(e) {
		return ours(f, e)
	}
	t, found := f.Transitions[e.Spec.TransitionName]
	central := found && lifecycleevent.RegisteredCentrally(t)
	here := found && f.Drivers(t.Spec.Driver).Registered
	switch {
	case f.Central == nil:
		return here || !central
	case f.Central.Alone:
		return true
	default:
		return here && central && !slices.Contains(f.Central.NodeDrivers, t.Spec.Driver)
	}
}

// KubeletFeature is the feature gate of Specialized Lifecycle Management (KEP-5683). A kubelet with it declares it in the
// status of its Node (KEP-5328).
const KubeletFeature = "SpecializedLifecycleManagement"

// Declared returns whether the kubelet of the node declares [KubeletFeature].
func Declared(node *corev1.Node) bool {
	return node != nil && slices.Contains(node.Status.DeclaredFeatures, KubeletFeature)
}

// StandsDown returns whether this agent leaves the events of the node to its kubelet. It has then finished the events that
// it had claimed.
func StandsDown(f Facts) bool {
	return kubeletClaims(&f) && inWork(&f, lifecycleevent.OldestFirst(f.Events)) == nil
}

// kubeletClaims returns whether the kubelet claims the events of the node. Other writers of the Node's status can forge the
// declaration, so it counts only if the API server serves LifecycleEvents itself: no kubelet acts on the objects of a CRD.
func kubeletClaims(f *Facts) bool { return f.Central == nil && f.Native && Declared(f.Node) }

// place returns where drivers register with this claimer.
func (f *Facts) place() string {
	if f.Central != nil {
		return "with the controller"
	}
	return fmt.Sprintf("on node %q", f.NodeName)
}

// otherClaim returns the event that the other claimer of the node has claimed, or nil.
func otherClaim(f *Facts) *lifecyclev1alpha1.LifecycleEvent {
	for _, e := range lifecycleevent.OldestFirst(f.Events) {
		if e.Status.ClaimedBy == nil || ours(f, e) || lifecycleevent.HasForeignClaim(e) {
			continue
		}
		if e.Status.ClaimStatus == lifecyclev1alpha1.Claimed || protected(e) {
			return e
		}
	}
	return nil
}

// takeTurn protects a claimed event, after which its driver is called. Agent and controller may each have claimed an event at
// the same moment. The later of the two claims was made in sight of the earlier one, so its claimer waits here: the controller
// until the agent's event is over, and an agent until the controller's event is over or its condition shows that it waits.
func (w *work) takeTurn() Decision {
	note := func(reason, message string) Decision {
		return writeIfChanged(w.event, PurposeNote, func(status *lifecyclev1alpha1.LifecycleEventStatus) {
			lifecycleevent.SetCondition(status, w.event, lifecyclev1alpha1.ConditionClaimable, metav1.ConditionTrue, reason, message, w.now)
		})
	}
	if other := otherClaim(w.facts); other != nil && (w.facts.Central != nil || !leavesTurn(other)) {
		return note(lifecyclev1alpha1.ReasonLeavesTurn,
			fmt.Sprintf("LifecycleEvent %q, claimed by %s, comes first", other.Name, lifecycleevent.ClaimerName(other)))
	}
	if leavesTurn(w.event) {
		return note(lifecyclev1alpha1.ReasonClaimed, "")
	}
	return do(Protect{Event: w.event})
}

// leavesTurn returns whether a claimed event has left the turn to another one.
func leavesTurn(e *lifecyclev1alpha1.LifecycleEvent) bool {
	c := lifecycleevent.Condition(e, lifecyclev1alpha1.ConditionClaimable)
	return !protected(e) && c != nil && c.Reason == lifecyclev1alpha1.ReasonLeavesTurn
}
