// SPDX-License-Identifier: Apache-2.0

package request

import (
	"time"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Decision is one step and the time at which to ask again if nothing changes before.
type Decision struct {
	// Step is nil when there is nothing to do now.
	Step Step
	// Wake is zero when only a change of the facts can give a step.
	Wake time.Time
}

// Step is one thing to do. Each may be done twice.
type Step interface{ isStep() }

type (
	// Confirm asks the API server whether the target is there, and for the requests of these
	// names: a cache may not have seen it yet, or may show what is over. The facts are then
	// gathered again, with what it says.
	Confirm struct {
		Requests []string
	}
	// Create creates an Eviction. If there is one of that name already, the cache is behind:
	// the facts are gathered again when it has caught up.
	Create struct {
		Eviction *evictionv1alpha1.Eviction
	}
	// Adopt replaces labels and owners of an Eviction.
	Adopt struct {
		Eviction *evictionv1alpha1.Eviction
		Labels   map[string]string
		Owners   []metav1.OwnerReference
	}
	// WriteEviction replaces the status of an Eviction, provided that it is still as it was
	// seen: responders write there as well.
	WriteEviction struct {
		Eviction *evictionv1alpha1.Eviction
		Status   evictionv1alpha1.EvictionStatus
	}
	// WriteRequest replaces the status of a request, provided that it is still as it was
	// seen.
	WriteRequest struct {
		Request *evictionv1alpha1.EvictionRequest
		Status  evictionv1alpha1.EvictionRequestStatus
	}
	// Delete deletes an Eviction that nobody asks for any more.
	Delete struct {
		Eviction *evictionv1alpha1.Eviction
	}
)

func (Confirm) isStep()       {}
func (Create) isStep()        {}
func (Adopt) isStep()         {}
func (WriteEviction) isStep() {}
func (WriteRequest) isStep()  {}
func (Delete) isStep()        {}
