// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/decision"
)

// Decision is one step, and the time of the next decision if no fact changes before.
type Decision = decision.Of[Step]

// Step is one action. A repetition is harmless: after a crash, the step may run again.
type Step interface{ isStep() }

// Purpose is the cause of a write of the status.
type Purpose string

// The purposes of a WriteStatus.
const (
	PurposeNote     Purpose = "note"     // an obstacle
	PurposeClaim    Purpose = "claim"    // Pending to Claimed
	PurposeState    Purpose = "state"    // the driver reached start or end
	PurposeProgress Purpose = "progress" // progress of the driver
	PurposeFinish   Purpose = "finish"   // to a terminal phase
)

type (
	// WriteStatus replaces the status of an event, provided that the event has not changed since.
	WriteStatus struct {
		Purpose Purpose
		Event   *lifecyclev1alpha1.LifecycleEvent
		Status  lifecyclev1alpha1.LifecycleEventStatus
	}
	// Protect sets the finalizer on a claimed event.
	Protect struct {
		Event *lifecyclev1alpha1.LifecycleEvent
	}
	// Unprotect removes the finalizer from an ended event.
	Unprotect struct {
		Event *lifecyclev1alpha1.LifecycleEvent
		// Uncordon: first undo the cordon for the event, by a read of the Node from the API server. A cache may not yet show it.
		Uncordon bool
	}
	// Delete deletes an ended event.
	Delete struct {
		Event *lifecyclev1alpha1.LifecycleEvent
	}
	// CheckDriver asks whether a driver answers, before an event is claimed for it.
	CheckDriver struct {
		Driver string
		Event  *lifecyclev1alpha1.LifecycleEvent
	}
	// CallDriver calls a driver. It takes the place of a call of another kind or
	// generation that is in flight for the event.
	CallDriver struct {
		Kind  CallKind
		Event *lifecyclev1alpha1.LifecycleEvent
	}
	// MarkNode sets conditions of the Node.
	MarkNode struct {
		Conditions []corev1.NodeCondition
	}
	// DeleteTransition deletes a transition of this node whose driver has left it.
	DeleteTransition struct {
		Transition *lifecyclev1alpha1.LifecycleTransition
	}
)

func (WriteStatus) isStep()      {}
func (Protect) isStep()          {}
func (Unprotect) isStep()        {}
func (Delete) isStep()           {}
func (CheckDriver) isStep()      {}
func (CallDriver) isStep()       {}
func (MarkNode) isStep()         {}
func (DeleteTransition) isStep() {}

func do(step Step) Decision          { return Decision{Step: step} }
func waitUntil(t time.Time) Decision { return Decision{Wake: t} }
