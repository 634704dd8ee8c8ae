// SPDX-License-Identifier: Apache-2.0

// Package state names the state of a node and of a LifecycleEvent in one word.
//
//	LifecycleEvent ── OfEvent ─▶ State ◀─ OfNode ── Node
//
// Tables, text and JSON of all commands use this word. The package is pure.
package state

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// State is the state of a node, or of one of its events, in one word.
type State string

// The states of a node that has no event.
const (
	// InService: the node is schedulable.
	InService State = "in service"
	// Cordoned: the node is unschedulable, and Slipway has not drained it.
	Cordoned State = "cordoned"
	// Drained: the node is unschedulable, because a drain succeeded. Also of an event.
	Drained State = "drained"
	// GoingDown: the machine of the node is shutting down, or off.
	GoingDown State = "going down"
	// Unknown: there is no such Node, or it cannot be read.
	Unknown State = "unknown"
)

// The states of an event. Draining, Drained, Returning and Returned belong to the transitions of
// Slipway, Running and Done to the transitions of other drivers.
const (
	Draining  State = "draining"
	Returning State = "returning"
	Running   State = "running"
	Returned  State = "returned"
	Done      State = "done"
	// Waiting: the event is not claimed yet.
	Waiting State = "waiting"
	// Stalled: the event is claimed, and its agent or driver does not work on it.
	Stalled State = "stalled"
	// Blocked: the drain makes no progress until a blocker is removed.
	Blocked State = "blocked"
	// Canceling: the event is being deleted, and has not ended.
	Canceling State = "canceling"
	// ClaimedByAnother: a third-party controller has claimed the event, and Slipway leaves the event to it.
	ClaimedByAnother State = "claimed by another"
	Canceled         State = "canceled"
	Failed           State = "failed"
	// DeadlinePassed: the event ended at its deadline.
	DeadlinePassed State = "deadline passed"
	// Gone: the event was deleted, and its end was not seen.
	Gone State = "gone"
)

// OfEvent returns the state of an event.
func OfEvent(event *lifecyclev1alpha1.LifecycleEvent) State {
	status := &event.Status
	doing, done := verbs(event)
	switch {
	case status.ClaimStatus == lifecyclev1alpha1.Succeeded:
		return done
	case status.ClaimStatus == lifecyclev1alpha1.SlaExpired:
		return DeadlinePassed
	case status.ClaimStatus == lifecyclev1alpha1.Failed && isCanceled(status):
		return Canceled
	case status.ClaimStatus == lifecyclev1alpha1.Failed:
		return Failed
	case lifecycleevent.HasForeignClaim(event):
		return ClaimedByAnother
	case event.DeletionTimestamp != nil:
		return Canceling
	case status.ClaimStatus != lifecyclev1alpha1.Claimed:
		return Waiting
	case WaitOf(event).Reason != "":
		return Stalled
	case IsBlocked(status):
		return Blocked
	default:
		return doing
	}
}

func isCanceled(status *lifecyclev1alpha1.LifecycleEventStatus) bool {
	c := apimeta.FindStatusCondition(status.Conditions, lifecyclev1alpha1.ConditionFinished)
	return c != nil && c.Reason == lifecyclev1alpha1.ReasonCanceled
}

// The states that the transitions of Slipway begin and end with.
const (
	drainStarted     = "drain-started"
	drainComplete    = "drain-complete"
	shutdownDraining = "Draining"
	shuttingDown     = "ShuttingDown"
	uncordoning      = "uncordoning"
)

// verbs returns the states of an event that is in work, and that has succeeded, by the
// states that its transition leads to.
func verbs(event *lifecyclev1alpha1.LifecycleEvent) (doing, done State) {
	end := ""
	if event.Status.Driver != nil {
		end = event.Status.Driver.End
	}
	switch {
	case lifecyclev1alpha1.IsState(end, drainComplete):
		return Draining, Drained
	case lifecyclev1alpha1.IsState(end, lifecyclev1alpha1.StateMaintenanceComplete):
		return Returning, Returned
	default:
		return Running, Done
	}
}

// Doing describes the effect on the node of a transition that begins with a state. It is empty for
// another driver's transition.
func Doing(start string) string {
	switch {
	case lifecyclev1alpha1.IsState(start, drainStarted):
		return "is being drained"
	case start == shutdownDraining:
		return "is being drained before its machine goes down"
	case lifecyclev1alpha1.IsState(start, uncordoning):
		return "is being returned to service"
	default:
		return ""
	}
}

// OfNode returns the state of a node that has no event. A nil Node is Unknown.
func OfNode(node *corev1.Node) State {
	switch {
	case node == nil:
		return Unknown
	case node.Annotations[shutdownAnnotation] != "", node.Spec.Unschedulable && reached(node, shuttingDown):
		return GoingDown
	case !node.Spec.Unschedulable:
		return InService
	case reached(node, drainComplete):
		return Drained
	case isTrue(node, corev1.NodeDrainInProgress):
		return Draining
	default:
		return Cordoned
	}
}

// shutdownAnnotation is on a Node from the announcement of a shutdown until its machine has
// booted. Package shutdown writes it.
const shutdownAnnotation = "slipway.dev/shutdown"

// NodeCondition returns a condition of a Node, or nil.
func NodeCondition(node *corev1.Node, conditionType corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == conditionType {
			return c
		}
	}
	return nil
}

func isTrue(node *corev1.Node, conditionType corev1.NodeConditionType) bool {
	c := NodeCondition(node, conditionType)
	return c != nil && c.Status == corev1.ConditionTrue
}

// reached reports whether the last event of the node brought it to a state.
func reached(node *corev1.Node, state string) bool {
	c := NodeCondition(node, lifecyclev1alpha1.NodeConditionLifecycleTransition)
	return c != nil && c.Status == corev1.ConditionTrue && lifecyclev1alpha1.IsState(c.Reason, state)
}

// Wait is the obstacle of an event. An empty reason means that there is no obstacle.
type Wait struct {
	Reason, Message string
	// Outdated means that it was reported for an older spec of the event.
	Outdated bool
}

// String returns the wait in one line.
func (w Wait) String() string {
	text := fmt.Sprintf("Waits (%s): %s", w.Reason, w.Message)
	if w.Outdated {
		text += " (outdated)"
	}
	return text
}

// waits are the conditions that keep an event from its claim, or from its driver: the first one with
// this status counts.
var waits = []struct {
	conditionType string
	status        metav1.ConditionStatus
}{
	{lifecyclev1alpha1.ConditionLeaseHeld, metav1.ConditionFalse},
	{lifecyclev1alpha1.ConditionGuardsPassed, metav1.ConditionFalse},
	{lifecyclev1alpha1.ConditionClaimable, metav1.ConditionFalse},
	{lifecyclev1alpha1.ConditionStalled, metav1.ConditionTrue},
	{lifecyclev1alpha1.ConditionDriverAvailable, metav1.ConditionFalse},
}

// WaitOf returns the obstacle of an event: a lease, a guard, a gate, or a missing driver. The blockers
// of its driver are not among them.
func WaitOf(event *lifecyclev1alpha1.LifecycleEvent) Wait {
	if event.Status.ClaimStatus.Terminal() {
		return Wait{}
	}
	if lifecycleevent.HasForeignClaim(event) {
		return Wait{Reason: reasons.CodeClaimedByAnother, Message: lifecycleevent.ClaimerName(event) + " has claimed the event"}
	}
	for _, w := range waits {
		if c := apimeta.FindStatusCondition(event.Status.Conditions, w.conditionType); c != nil && c.Status == w.status {
			return Wait{Reason: c.Reason, Message: c.Message, Outdated: c.ObservedGeneration != 0 && c.ObservedGeneration < event.Generation}
		}
	}
	return Wait{}
}

// IsOutdated reports whether the driver has not yet seen the latest spec of an event.
func IsOutdated(event *lifecyclev1alpha1.LifecycleEvent) bool {
	return event.Status.ClaimStatus == lifecyclev1alpha1.Claimed && event.Status.ObservedGeneration != 0 &&
		event.Status.ObservedGeneration < event.Generation
}

// flags are the flags of kubectl slipway drain by which the drain evicts a pod that it
// refuses to evict otherwise, by the reason of the blocker.
var flags = map[string]string{"UnmanagedPod": "--force", "LocalStorage": "--delete-emptydir-data"}

// FlagAgainst returns the flag that makes a drain evict a pod that it refuses otherwise. It is empty
// for other kinds of blockers.
func FlagAgainst(b lifecyclev1alpha1.Blocker) string { return flags[b.Reason] }

// BlockersOf counts the blockers of an event: its status lists at most 20 of them.
func BlockersOf(status *lifecyclev1alpha1.LifecycleEventStatus) int {
	return max(int(status.BlockersTotal), len(status.Blockers))
}

// IsBlocked reports whether a drain makes no progress until a blocker is removed: all remaining pods
// are blocked, or the node as a whole.
func IsBlocked(status *lifecyclev1alpha1.LifecycleEventStatus) bool {
	if BlockersOf(status) == 0 {
		return false
	}
	ofAll := func(b lifecyclev1alpha1.Blocker) bool {
		return !strings.HasPrefix(b.Object, "Pod ") || FlagAgainst(b) != ""
	}
	if slices.ContainsFunc(status.Blockers, ofAll) || status.Progress == nil {
		return true
	}
	return BlockersOf(status) >= int(status.Progress.Total-status.Progress.Done)
}

// NeedsPeople reports whether a blocker stays until a person acts, so that its duration is unknown.
func NeedsPeople(status *lifecyclev1alpha1.LifecycleEventStatus) bool {
	return IsBlocked(status) || slices.ContainsFunc(status.Blockers, func(b lifecyclev1alpha1.Blocker) bool {
		reason, known := reasons.Lookup(reasons.Blocker, b.Reason)
		return known && !reason.Passes
	})
}

// WorkloadOf returns the workload of a pod, or nothing for a pod without a controller. A
// ReplicaSet of a Deployment has the Deployment's name and the hash of the pod's template.
func WorkloadOf(pod *corev1.Pod) (kind, name string) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return "", ""
	}
	if hash := pod.Labels["pod-template-hash"]; owner.Kind == "ReplicaSet" && hash != "" {
		if deployment, of := strings.CutSuffix(owner.Name, "-"+hash); of {
			return "Deployment", deployment
		}
	}
	return owner.Kind, owner.Name
}
