// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/decision"
)

// Decision is one step and the time at which to ask again if nothing changes before.
type Decision = decision.Of[Step]

// Step is one thing to do. Each may be done twice: a crash after it is as if it had
// not been done.
type Step interface{ isStep() }

type (
	// Acquire takes the lease, which nobody holds: provided that it is still as it was
	// seen, or still not there.
	Acquire struct {
		Lease   *coordinationv1.Lease
		Purpose string
	}
	// Renew keeps the lease, which is ours.
	Renew struct {
		Lease   *coordinationv1.Lease
		Purpose string
	}
	// Release gives the lease back, which is ours.
	Release struct {
		Lease *coordinationv1.Lease
	}
	// Mirror writes the annotation of the Node that says who holds the lease. Empty: it is
	// taken away.
	Mirror struct {
		Value string
	}
	// WriteStatus replaces the status of an event, provided that the event is still as it
	// was seen.
	WriteStatus struct {
		Event  *lifecyclev1alpha1.LifecycleEvent
		Status lifecyclev1alpha1.LifecycleEventStatus
	}
	// RemoveGate lets an event pass.
	RemoveGate struct {
		Event *lifecyclev1alpha1.LifecycleEvent
	}
)

func (Acquire) isStep()     {}
func (Renew) isStep()       {}
func (Release) isStep()     {}
func (Mirror) isStep()      {}
func (WriteStatus) isStep() {}
func (RemoveGate) isStep()  {}

func do(step Step) Decision          { return Decision{Step: step} }
func waitUntil(t time.Time) Decision { return Decision{Wake: t} }
