// SPDX-License-Identifier: Apache-2.0

package lifecycleevent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// BindingNodeField is the field by which caches index events by node.
const BindingNodeField = "spec.bindingNode"

// MaxMessage limits the messages of conditions and of the status, in bytes: drivers write
// them, too.
const MaxMessage = 1024

// OldestFirst sorts events by creation, then by name: the order in which they are claimed.
func OldestFirst(events []*lifecyclev1alpha1.LifecycleEvent) []*lifecyclev1alpha1.LifecycleEvent {
	return slices.SortedFunc(slices.Values(events), func(a, b *lifecyclev1alpha1.LifecycleEvent) int {
		if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
}

// Phase returns the claim status of the event. A new event, which has none, is Pending.
func Phase(e *lifecyclev1alpha1.LifecycleEvent) lifecyclev1alpha1.ClaimStatus {
	if e.Status.ClaimStatus == "" {
		return lifecyclev1alpha1.Pending
	}
	return e.Status.ClaimStatus
}

// BreaksGlass returns whether an event passes holds, budgets, guards, leases and claims in an emergency.
func BreaksGlass(e *lifecyclev1alpha1.LifecycleEvent) bool {
	_, breaks := e.Annotations[lifecyclev1alpha1.BreakGlassAnnotation]
	return breaks
}

// Requester is the group of an event by which processes limit their memory: its requester, whose name the API server writes.
// Empty: the controller itself has created the event, for a maintenance or a shutdown. These names are reserved (policy
// event-records).
func Requester(o metav1.Object) string {
	e, ok := o.(*lifecyclev1alpha1.LifecycleEvent)
	switch {
	case !ok:
		return ""
	case strings.HasPrefix(e.Name, "maintenance-"), strings.HasPrefix(e.Name, "shutdown-"):
		return ""
	case e.Spec.RequestedBy == "": // a server without MutatingAdmissionPolicies
		return "unknown"
	default:
		return e.Spec.RequestedBy
	}
}

// HasForeignClaim returns whether a third-party controller has claimed the event. KEP-5683 permits that, and its status
// has no claimedBy. Only the claimer writes, releases or deletes such an event, until a person with the verb release-claims
// sets ReleaseClaimAnnotation: then the controller ends it (oversight/windup.go, release).
func HasForeignClaim(e *lifecyclev1alpha1.LifecycleEvent) bool {
	if by := e.Status.ClaimedBy; by != nil {
		return by.Kind != lifecyclev1alpha1.NodeAgent && by.Kind != lifecyclev1alpha1.Controller
	}
	switch Phase(e) {
	case lifecyclev1alpha1.Pending:
		return false
	case lifecyclev1alpha1.Claimed:
		return true
	default: // Slipway ends an unclaimed event with the condition Finished, and without a driver.
		return e.Status.Driver != nil || Condition(e, lifecyclev1alpha1.ConditionFinished) == nil
	}
}

// ReturnsNode reports whether an event returns its node to service: guards, holds, budgets and leases do not delay it. A
// transition of a single node does not count, because the token of that node is enough to publish it: its driver could take
// the node out of service past the guards.
func ReturnsNode(e *lifecyclev1alpha1.LifecycleEvent, transitions map[string]*lifecyclev1alpha1.LifecycleTransition) bool {
	t, found := transitions[e.Spec.TransitionName]
	switch driver := e.Status.Driver; {
	case found && t.Spec.NodeName != "":
		return false
	case driver != nil:
		return lifecyclev1alpha1.IsState(driver.End, lifecyclev1alpha1.StateMaintenanceComplete)
	default:
		return found && lifecyclev1alpha1.IsState(t.Spec.End, lifecyclev1alpha1.StateMaintenanceComplete)
	}
}

// RegisteredCentrally returns whether the controller has recorded that the driver of the transition is registered with it.
func RegisteredCentrally(t *lifecyclev1alpha1.LifecycleTransition) bool {
	return t.Annotations[lifecyclev1alpha1.RegisteredCentrallyAnnotation] == t.Spec.Driver
}

// ClaimerName returns the name of the event's claimer, for messages.
func ClaimerName(e *lifecyclev1alpha1.LifecycleEvent) string {
	if by := e.Status.ClaimedBy; by != nil {
		return fmt.Sprintf("%s %s", by.Kind, by.Identity)
	}
	return "a controller that does not set status.claimedBy"
}

// Condition returns the event's condition of that type, or nil.
func Condition(e *lifecyclev1alpha1.LifecycleEvent, conditionType string) *metav1.Condition {
	return apimeta.FindStatusCondition(e.Status.Conditions, conditionType)
}

// Changed returns the event's status after the change, and whether it differs.
func Changed(e *lifecyclev1alpha1.LifecycleEvent, change func(*lifecyclev1alpha1.LifecycleEventStatus)) (lifecyclev1alpha1.LifecycleEventStatus, bool) {
	status := e.Status.DeepCopy()
	status.ClaimStatus = Phase(e)
	change(status)
	if equality.Semantic.DeepEqual(*status, e.Status) {
		return e.Status, false
	}
	return *status, true
}

// WithCondition returns the event's status with the condition, and whether it differs.
func WithCondition(e *lifecyclev1alpha1.LifecycleEvent, conditionType string, value metav1.ConditionStatus, reason, message string, now time.Time) (lifecyclev1alpha1.LifecycleEventStatus, bool) {
	return Changed(e, func(status *lifecyclev1alpha1.LifecycleEventStatus) {
		SetCondition(status, e, conditionType, value, reason, message, now)
	})
}

// SetCondition sets a condition in status, which becomes that of e. The condition's time
// moves with its reason as well as with its status: drivers have 30 s from the last change
// of reason to become ready.
func SetCondition(status *lifecyclev1alpha1.LifecycleEventStatus, e *lifecyclev1alpha1.LifecycleEvent, conditionType string, value metav1.ConditionStatus, reason, message string, now time.Time) {
	apimeta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: conditionType, Status: value, Reason: reason, Message: reasons.Shorten(message, MaxMessage),
		ObservedGeneration: e.Generation, LastTransitionTime: metav1.NewTime(now),
	})
	if c := apimeta.FindStatusCondition(status.Conditions, conditionType); c.LastTransitionTime.Time.Before(now) {
		if old := Condition(e, conditionType); old == nil || old.Reason != reason {
			c.LastTransitionTime = metav1.NewTime(now)
		}
	}
}
