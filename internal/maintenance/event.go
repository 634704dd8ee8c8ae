// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"encoding/json"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/maintenance/drainplan"
)

// heldFor is the deadline of the event that takes a node out. The drain is held through the
// work, until the node returns, so this limits all of that: no node is forgotten for ever.
// spec.drain.timeout is judged in this package.
const heldFor = 30 * 24 * time.Hour

func newEvent(name, label, transition, node string, refs []Ref) *lifecyclev1alpha1.LifecycleEvent {
	e := &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{
			Name:       name,
			Labels:     map[string]string{slipwayv1alpha1.MaintenanceEventLabel: label},
			Finalizers: []string{slipwayv1alpha1.MaintenanceEventFinalizer},
		},
		Spec: lifecyclev1alpha1.LifecycleEventSpec{TransitionName: transition, BindingNode: node},
	}
	setRefs(e, refs)
	return e
}

// newDrain returns the event that takes a node out.
func newDrain(node string, refs []Ref, parameters slipwayv1alpha1.DrainParameters) *lifecyclev1alpha1.LifecycleEvent {
	e := newEvent(DrainName(node), LabelDrain, lifecycleevent.DrainTransition, node, refs)
	e.Spec.SLA = &metav1.Duration{Duration: heldFor}
	setParameters(e, parameters)
	return e
}

// Refs returns the maintenances that an event is for. An annotation that cannot be
// read was written by a third party, and counts as none.
func Refs(e *lifecyclev1alpha1.LifecycleEvent) []Ref {
	var refs []Ref
	if err := json.Unmarshal([]byte(e.Annotations[slipwayv1alpha1.MaintenancesAnnotation]), &refs); err != nil {
		return nil
	}
	return refs
}

// setRefs writes the maintenances to the event, unless it has them already.
func setRefs(e *lifecyclev1alpha1.LifecycleEvent, refs []Ref) {
	if e.Annotations[slipwayv1alpha1.MaintenancesAnnotation] != "" && slices.Equal(Refs(e), refs) {
		return
	}
	raw, err := json.Marshal(refs)
	if err != nil {
		return // never: strings, numbers and times of this age can be encoded
	}
	annotate(e, slipwayv1alpha1.MaintenancesAnnotation, string(raw))
}

func annotate(e *lifecyclev1alpha1.LifecycleEvent, key, value string) {
	if e.Annotations == nil {
		e.Annotations = map[string]string{}
	}
	e.Annotations[key] = value
}

// refOf returns the entry of a maintenance; nil, if there is none.
func refOf(refs []Ref, uid types.UID) *Ref {
	i := slices.IndexFunc(refs, func(ref Ref) bool { return ref.UID == uid })
	if i < 0 {
		return nil
	}
	return &refs[i]
}

// released reports whether the node is on its way back: no maintenance can join its drain then.
func released(refs []Ref) bool {
	return !slices.ContainsFunc(refs, func(ref Ref) bool { return !ref.Released })
}

// parametersOf returns what the event asks of its drain, as far as that can be read.
func parametersOf(e *lifecyclev1alpha1.LifecycleEvent) slipwayv1alpha1.DrainParameters {
	var parameters slipwayv1alpha1.DrainParameters
	if e.Spec.Parameters != nil {
		_ = json.Unmarshal(e.Spec.Parameters.Raw, &parameters) // the next change overwrites what is not ours
	}
	return parameters
}

// setParameters writes parameters, unless the event has the same already: any change makes the
// driver begin anew.
func setParameters(e *lifecyclev1alpha1.LifecycleEvent, parameters slipwayv1alpha1.DrainParameters) {
	if e.Spec.Parameters != nil && equality.Semantic.DeepEqual(parametersOf(e), parameters) {
		return
	}
	raw, err := json.Marshal(parameters)
	if err != nil {
		return // never: strings and numbers can be encoded
	}
	e.Spec.Parameters = &runtime.RawExtension{Raw: raw}
}

// targetsOf returns the targets of the drain; nil: the node is only cordoned.
func targetsOf(e *lifecyclev1alpha1.LifecycleEvent) []slipwayv1alpha1.DrainTarget {
	targets := distinct(parametersOf(e).Targets)
	if equality.Semantic.DeepEqual(targets, drainplan.NoPods()) {
		return nil
	}
	return targets
}

// reached reports whether nothing is left of what the event covers now.
func reached(e *lifecyclev1alpha1.LifecycleEvent) bool {
	c := apimeta.FindStatusCondition(e.Status.Conditions, lifecyclev1alpha1.ConditionTargetsReached)
	return claimed(e) && c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == e.Generation
}

// reachedAt returns since when.
func reachedAt(e *lifecyclev1alpha1.LifecycleEvent) time.Time {
	return transitionOf(e, lifecyclev1alpha1.ConditionTargetsReached)
}

// claimedAt returns when the event was claimed; zero, if it was not.
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

// over reports whether nobody but this controller has anything left to do for the event.
func over(e *lifecyclev1alpha1.LifecycleEvent) bool {
	if slices.Contains(e.Finalizers, lifecyclev1alpha1.ClaimProtectionFinalizer) {
		return false
	}
	return e.Status.ClaimStatus.Terminal() || pending(e) && e.DeletionTimestamp != nil
}

// ended reports whether the event makes no more progress: it is over, or about to be.
func ended(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return e.DeletionTimestamp != nil || e.Status.ClaimStatus.Terminal()
}

// unsettled reports whether this controller has yet to record how the event ended.
func unsettled(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return !over(e) || slices.Contains(e.Finalizers, slipwayv1alpha1.MaintenanceEventFinalizer)
}

func gated(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return slices.Contains(e.Spec.Gates, lifecyclev1alpha1.Gate{Name: slipwayv1alpha1.MaintenanceGate})
}

func removeGate(e *lifecyclev1alpha1.LifecycleEvent) {
	if gated(e) {
		e.Spec.Gates = slices.DeleteFunc(e.Spec.Gates, func(g lifecyclev1alpha1.Gate) bool { return g.Name == slipwayv1alpha1.MaintenanceGate })
	}
}

func saysDone(e *lifecyclev1alpha1.LifecycleEvent) bool {
	_, said := e.Annotations[slipwayv1alpha1.WorkDoneAnnotation]
	return said
}
