// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/slipway-k8s/slipway/internal/lifecycleevent"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/drainplan"
)

// heldFor is the deadline of the event that takes a node out: its drain is held through the
// work, until the node returns, so it is none for the drain alone. spec.drain.timeout is
// judged here. It lets no node be forgotten for ever.
const heldFor = 30 * 24 * time.Hour

// conditionTargetsReached is the drain driver's: nothing is left of what the parameters of
// its observedGeneration cover.
const conditionTargetsReached = "TargetsReached"

func newEvent(name, label, transition, node string, fors []For) *lifecyclev1alpha1.LifecycleEvent {
	e := &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{
			Name:       name,
			Labels:     map[string]string{slipwayv1alpha1.MaintenanceEventLabel: label},
			Finalizers: []string{slipwayv1alpha1.MaintenanceEventFinalizer},
		},
		Spec: lifecyclev1alpha1.LifecycleEventSpec{TransitionName: transition, BindingNode: node},
	}
	setFors(e, fors)
	return e
}

// newDrain is the event that takes a node out. Its gate holds it until the hooks are open.
func newDrain(node string, fors []For, parameters slipwayv1alpha1.DrainParameters) *lifecyclev1alpha1.LifecycleEvent {
	e := newEvent(DrainName(node), LabelDrain, lifecycleevent.DrainTransition, node, fors)
	e.Spec.SLA = &metav1.Duration{Duration: heldFor}
	setParameters(e, parameters)
	return e
}

// parametersOf are what the event asks of its drain, as far as they can be read.
func parametersOf(e *lifecyclev1alpha1.LifecycleEvent) slipwayv1alpha1.DrainParameters {
	var parameters slipwayv1alpha1.DrainParameters
	if e.Spec.Parameters != nil {
		_ = json.Unmarshal(e.Spec.Parameters.Raw, &parameters) // what is not ours is overwritten
	}
	return parameters
}

// setParameters writes them, unless the event says the same already: it would have the
// drain begin anew.
func setParameters(e *lifecyclev1alpha1.LifecycleEvent, parameters slipwayv1alpha1.DrainParameters) {
	if e.Spec.Parameters != nil && equality.Semantic.DeepEqual(parametersOf(e), parameters) {
		return
	}
	raw, err := json.Marshal(parameters)
	if err != nil {
		return // a struct of texts and numbers can be written
	}
	e.Spec.Parameters = &runtime.RawExtension{Raw: raw}
}

// targetsOf are those that the drain has; nil: the node is only cordoned.
func targetsOf(e *lifecyclev1alpha1.LifecycleEvent) []slipwayv1alpha1.DrainTarget {
	targets := distinct(parametersOf(e).Targets)
	if equality.Semantic.DeepEqual(targets, drainplan.Nothing()) {
		return nil
	}
	return targets
}

// reached says whether nothing is left of what the event covers now.
func reached(e *lifecyclev1alpha1.LifecycleEvent) bool {
	c := apimeta.FindStatusCondition(e.Status.Conditions, conditionTargetsReached)
	return claimed(e) && c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == e.Generation
}

// reachedAt is since when.
func reachedAt(e *lifecyclev1alpha1.LifecycleEvent) time.Time {
	return transitionOf(e, conditionTargetsReached)
}

// claimedAt is when the event was claimed; zero, if it was not.
func claimedAt(e *lifecyclev1alpha1.LifecycleEvent) time.Time {
	if pending(e) {
		return time.Time{}
	}
	return transitionOf(e, lifecyclev1alpha1.ConditionClaimable)
}

func transitionOf(e *lifecyclev1alpha1.LifecycleEvent, condition string) time.Time {
	if c := apimeta.FindStatusCondition(e.Status.Conditions, condition); c != nil {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

func pending(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return e.Status.ClaimStatus == "" || e.Status.ClaimStatus == lifecyclev1alpha1.Pending
}

func claimed(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return e.Status.ClaimStatus == lifecyclev1alpha1.Claimed
}

// over says whether nothing will be done for the event any more, but by us.
func over(e *lifecyclev1alpha1.LifecycleEvent) bool {
	if slices.Contains(e.Finalizers, lifecyclev1alpha1.ClaimProtectionFinalizer) {
		return false
	}
	return e.Status.ClaimStatus.Terminal() || pending(e) && e.DeletionTimestamp != nil
}

// ended says whether the event goes on no more: it is over, or about to be.
func ended(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return e.DeletionTimestamp != nil || e.Status.ClaimStatus.Terminal()
}

// ours says whether we have yet to see how the event ended.
func ours(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return !over(e) || slices.Contains(e.Finalizers, slipwayv1alpha1.MaintenanceEventFinalizer)
}

func gated(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return slices.Contains(e.Spec.Gates, lifecyclev1alpha1.Gate{Name: slipwayv1alpha1.MaintenanceGate})
}
