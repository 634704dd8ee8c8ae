// SPDX-License-Identifier: Apache-2.0

package requester

import (
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Step is one thing to do. Each may be done twice.
type Step interface{ isStep() }

type (
	// Confirm asks the API server whether the event is there: a cache may not have seen it
	// yet. The facts are then gathered again, with what it says.
	Confirm struct{}
	// Look asks the API server for a pod that the event names.
	Look struct {
		Pod lifecyclev1alpha1.PodReference
	}
	// Ask creates a request.
	Ask struct {
		Request *evictionv1alpha1.EvictionRequest
	}
	// Wait leaves a pod alone for a while: for longer each time that a request has failed.
	Wait struct {
		Pod lifecyclev1alpha1.PodReference
		// Request is the one that has failed; empty: nobody responds.
		Request types.UID
	}
	// Refuse leaves a pod alone that the event names, for as long as it does.
	Refuse struct {
		Event *lifecyclev1alpha1.LifecycleEvent
		Pod   lifecyclev1alpha1.PodReference
		Why   string
		// Lies: no driver that works as it should names such a pod.
		Lies bool
	}
	// Withdraw says on a request that the eviction is not wanted any more.
	Withdraw struct {
		Request *evictionv1alpha1.EvictionRequest
	}
	// Delete deletes a request that has done its work.
	Delete struct {
		Request *evictionv1alpha1.EvictionRequest
	}
)

func (Confirm) isStep()  {}
func (Look) isStep()     {}
func (Ask) isStep()      {}
func (Refuse) isStep()   {}
func (Wait) isStep()     {}
func (Withdraw) isStep() {}
func (Delete) isStep()   {}
