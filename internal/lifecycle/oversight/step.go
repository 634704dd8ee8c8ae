// SPDX-License-Identifier: Apache-2.0

package oversight

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/decision"
	"github.com/slipway-k8s/slipway/internal/node/hold"
)

// Decision is one step, and the time of the next decision if no fact changes before.
type Decision = decision.Of[Step]

// Step is one action. A repetition is harmless: after a crash, the step may run again.
type Step interface{ isStep() }

type (
	// WriteStatus replaces the status of an event, provided that the event has not changed since.
	WriteStatus struct {
		Event  *lifecyclev1alpha1.LifecycleEvent
		Status lifecyclev1alpha1.LifecycleEventStatus
	}
	// RemoveGate lets an event pass the guards. Holds: it gets the finalizer for its hold in the same write.
	RemoveGate struct {
		Event *lifecyclev1alpha1.LifecycleEvent
		Holds bool
	}
	// TakeHold creates the hold of an event.
	TakeHold struct {
		Event *lifecyclev1alpha1.LifecycleEvent
		Hold  *hold.Hold
	}
	// ReleaseHold deletes a hold, for an event that returns the node, or that has ended without effect. Event is nil after
	// an uncordon by a person. Notice informs the holder that another actor has released its hold.
	ReleaseHold struct {
		Event  *lifecyclev1alpha1.LifecycleEvent
		Hold   *hold.Hold
		Notice string
	}
	// UnprotectHold removes the finalizer of the hold from an event.
	UnprotectHold struct {
		Event *lifecyclev1alpha1.LifecycleEvent
	}
	// MarkOverdue sets or removes the label of a hold that is overdue.
	MarkOverdue struct {
		Hold    *hold.Hold
		Overdue bool
	}
	// ShowHolders shows the users that hold the node on the Node. Empty: none.
	ShowHolders struct {
		Text string
	}
	// MarkNode sets conditions of the Node.
	MarkNode struct {
		Conditions []corev1.NodeCondition
	}
	// Unprotect removes the finalizer from an event.
	Unprotect struct {
		Event *lifecyclev1alpha1.LifecycleEvent
		// Uncordon: first undo the cordon for the event, by a read of the Node from the API server. A cache may not yet show it.
		Uncordon bool
	}
	// Delete deletes an ended event.
	Delete struct {
		Event *lifecyclev1alpha1.LifecycleEvent
	}
	// MarkTransition marks a transition whose driver is registered with the controller, or removes the mark.
	MarkTransition struct {
		Transition *lifecyclev1alpha1.LifecycleTransition
		Driver     string
	}
)

func (WriteStatus) isStep()    {}
func (RemoveGate) isStep()     {}
func (MarkNode) isStep()       {}
func (Unprotect) isStep()      {}
func (Delete) isStep()         {}
func (MarkTransition) isStep() {}
func (TakeHold) isStep()       {}
func (ReleaseHold) isStep()    {}
func (UnprotectHold) isStep()  {}
func (ShowHolders) isStep()    {}
func (MarkOverdue) isStep()    {}

// Ends returns whether the step ends its event.
func (s WriteStatus) Ends() bool {
	return s.Status.ClaimStatus.Terminal() && !s.Event.Status.ClaimStatus.Terminal()
}

func do(step Step) Decision          { return Decision{Step: step} }
func waitUntil(t time.Time) Decision { return Decision{Wake: t} }
