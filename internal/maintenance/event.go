// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/drainplan"
)

// The values of slipwayv1alpha1.MaintenanceEventLabel.
const (
	// LabelDrain marks the event that takes a node out of service.
	LabelDrain = "drain"
	// LabelReturn marks the event that returns it to service.
	LabelReturn = "return"
	// LabelWork marks a Job and its pods.
	LabelWork = "work"
)

// Labelled reports whether an event or a Job belongs to maintenances.
func Labelled(o metav1.Object) bool {
	_, is := o.GetLabels()[slipwayv1alpha1.MaintenanceEventLabel]
	return is
}

// Selector selects the objects that are [Labelled].
func Selector() labels.Selector {
	exists, err := labels.Parse(slipwayv1alpha1.MaintenanceEventLabel)
	if err != nil {
		panic(err) // never: the label is valid
	}
	return exists
}

const (
	maxName      = 253 // of an object
	maxLabel     = 63  // of a label's value, and of the name of a pod's Job
	hashLength   = 10
	namePrefix   = "maintenance-"
	returnSuffix = "-return"
)

// DrainName returns the name of the event that takes a node out of service, for all maintenances. A name
// that could be the return of another node has a hash.
func DrainName(node string) string {
	return eventName(node, maxName, strings.HasSuffix(node, returnSuffix))
}

// ReturnName returns the name of the event that returns a node to service.
func ReturnName(node string) string {
	return eventName(node, maxName-len(returnSuffix), false) + returnSuffix
}

// eventName returns a name that is unique to the node. It ends with a hash of the node's name if it would
// be too long or ambiguous, or if the node's name ends like a hash.
func eventName(node string, limit int, ambiguous bool) string {
	if ambiguous || hashed.MatchString(node) {
		return withHash(namePrefix+node, node, limit)
	}
	return shortened(namePrefix+node, node, limit)
}

// hashed matches a name that ends with a hash.
var hashed = regexp.MustCompile(fmt.Sprintf(`-[0-9a-f]{%d}$`, hashLength))

// JobName returns the name of the Job of a maintenance on a node. Each retry has its own Job.
func JobName(node string, maintenance types.UID, retry int64) string {
	id := node + "/" + string(maintenance) + "/" + strconv.FormatInt(retry, 10)
	return withHash(strings.ReplaceAll(namePrefix+node, ".", "-"), id, maxLabel)
}

// nodeLabel returns a node's name as the value of a label.
func nodeLabel(node string) string { return shortened(node, node, maxLabel) }

// shortened returns the name, if it has at most limit bytes, or its beginning with a hash of id.
func shortened(name, id string, limit int) string {
	if len(name) <= limit {
		return name
	}
	return withHash(name, id, limit)
}

// withHash returns the beginning of a name, up to a letter or a digit, with a hash of id.
func withHash(name, id string, limit int) string {
	sum := sha256.Sum256([]byte(id))
	readable := strings.TrimRight(name[:min(len(name), limit-1-hashLength)], "-.")
	return readable + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

// heldFor is the deadline of the event that takes a node out of service. The drain is held through the
// work, until the node returns, so it limits that whole time. This package enforces spec.drain.timeout.
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

// newDrain returns the event that takes a node out of service.
func newDrain(node string, refs []Ref, parameters slipwayv1alpha1.DrainParameters) *lifecyclev1alpha1.LifecycleEvent {
	e := newEvent(DrainName(node), LabelDrain, lifecyclev1alpha1.DrainTransition, node, refs)
	e.Spec.SLA = &metav1.Duration{Duration: heldFor}
	setParameters(e, parameters)
	return e
}

// Refs returns the maintenances that use an event. It ignores an annotation that a third party has made
// unreadable.
func Refs(e *lifecyclev1alpha1.LifecycleEvent) (refs []Ref) {
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
	if raw, err := json.Marshal(refs); err == nil { // always: strings, numbers and times of this age have an encoding
		metav1.SetMetaDataAnnotation(&e.ObjectMeta, slipwayv1alpha1.MaintenancesAnnotation, string(raw))
	}
}

// find returns the first item that meets a condition; nil, if no item does.
func find[T any](all []T, is func(T) bool) *T {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return &all[i]
	}
	return nil
}

// without removes an item from a list.
func without[T comparable](all []T, item T) []T {
	return slices.DeleteFunc(all, func(each T) bool { return each == item })
}

// refOf returns the entry of a maintenance; nil, if it has none.
func refOf(refs []Ref, uid types.UID) *Ref {
	return find(refs, func(ref Ref) bool { return ref.UID == uid })
}

// released reports whether the node returns: no maintenance can join its drain then.
func released(refs []Ref) bool {
	return !slices.ContainsFunc(refs, func(ref Ref) bool { return !ref.Released })
}

// ParametersOf returns the readable parameters of a drain.
func ParametersOf(e *lifecyclev1alpha1.LifecycleEvent) (parameters slipwayv1alpha1.DrainParameters) {
	if e.Spec.Parameters != nil {
		_ = json.Unmarshal(e.Spec.Parameters.Raw, &parameters) // the next change overwrites foreign values
	}
	return parameters
}

// setParameters writes parameters, unless the event has the same already: the driver starts again with
// each change.
func setParameters(e *lifecyclev1alpha1.LifecycleEvent, parameters slipwayv1alpha1.DrainParameters) {
	if e.Spec.Parameters != nil && equality.Semantic.DeepEqual(ParametersOf(e), parameters) {
		return
	}
	if raw, err := json.Marshal(parameters); err == nil { // always: strings and numbers have an encoding
		e.Spec.Parameters = &runtime.RawExtension{Raw: raw}
	}
}

// targetsOf returns the targets of the drain; nil: the node is only cordoned.
func targetsOf(e *lifecyclev1alpha1.LifecycleEvent) []slipwayv1alpha1.DrainTarget {
	targets := distinct(ParametersOf(e).Targets)
	if equality.Semantic.DeepEqual(targets, drainplan.NoPods()) {
		return nil
	}
	return targets
}

// reached reports whether all pods that the event covers now have left.
func reached(e *lifecyclev1alpha1.LifecycleEvent) bool {
	c := apimeta.FindStatusCondition(e.Status.Conditions, lifecyclev1alpha1.ConditionTargetsReached)
	return claimed(e) && c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == e.Generation
}

// reachedAt returns the time at which these pods had left.
func reachedAt(e *lifecyclev1alpha1.LifecycleEvent) time.Time {
	return transitionOf(e, lifecyclev1alpha1.ConditionTargetsReached)
}

// claimedAt returns the time at which an agent claimed the event; zero, if it is Pending.
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

// over reports whether only this controller has work left for the event.
func over(e *lifecyclev1alpha1.LifecycleEvent) bool {
	if slices.Contains(e.Finalizers, lifecyclev1alpha1.ClaimProtectionFinalizer) {
		return false
	}
	return e.Status.ClaimStatus.Terminal() || pending(e) && e.DeletionTimestamp != nil
}

// ended reports whether the event makes no further progress.
func ended(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return e.DeletionTimestamp != nil || e.Status.ClaimStatus.Terminal()
}

// unsettled reports whether this controller has yet to record the result of the event.
func unsettled(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return !over(e) || slices.Contains(e.Finalizers, slipwayv1alpha1.MaintenanceEventFinalizer)
}

var ourGate = lifecyclev1alpha1.Gate{Name: slipwayv1alpha1.MaintenanceGate}

func gated(e *lifecyclev1alpha1.LifecycleEvent) bool { return slices.Contains(e.Spec.Gates, ourGate) }

// workDone reports whether an administrator or a tool has declared the work done.
func workDone(e *lifecyclev1alpha1.LifecycleEvent) bool {
	_, done := e.Annotations[slipwayv1alpha1.WorkDoneAnnotation]
	return done
}
