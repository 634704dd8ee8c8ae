// SPDX-License-Identifier: Apache-2.0

package requester

import (
	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Facts are what is known of an event at one moment.
type Facts struct {
	// UID is that of the event.
	UID types.UID
	// Event is nil if none of that UID is known.
	Event *lifecyclev1alpha1.LifecycleEvent
	// Confirmed tells that the API server, not a cache, has said that the event is not
	// there.
	Confirmed bool
	// Requests are those of this package for the event.
	Requests []*evictionv1alpha1.EvictionRequest
	// Seen is what the API server has said of pods that the event names.
	Seen map[lifecyclev1alpha1.PodReference]Seen
	// Settled are the pods with which the event is done: they were refused, or are gone.
	Settled map[lifecyclev1alpha1.PodReference]bool
	// Waits are the pods of the event with which nothing is to be done for a while.
	Waits map[lifecyclev1alpha1.PodReference]Waiting
}

// Waiting is that nothing is to be done with a pod for a while.
type Waiting struct {
	// Request is the request that all responders have failed; empty: nobody responds.
	Request types.UID
	// Over tells that the while is over.
	Over bool
}

// Seen is what the API server has said of a pod.
type Seen struct {
	// Pod is the pod of that name, whatever its UID; nil if there is none.
	Pod *corev1.Pod
	// Responders tells whether anybody responds to its eviction, besides the responder that
	// comes last for every pod.
	Responders bool
}

// goesOn says whether the event is one for which pods are asked for.
func goesOn(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return e != nil && e.Status.ClaimStatus == lifecyclev1alpha1.Claimed && e.DeletionTimestamp == nil
}

// named are the pods that the event leaves to responders now.
func (f Facts) named() []lifecyclev1alpha1.PodReference {
	if !goesOn(f.Event) {
		return nil
	}
	return f.Event.Status.LeftToResponders
}

// subject is the pod that a request is about.
func subject(r *evictionv1alpha1.EvictionRequest) lifecyclev1alpha1.PodReference {
	return lifecyclev1alpha1.PodReference{Namespace: r.Namespace, Name: r.Spec.Target.Pod.Name, UID: r.Spec.Target.Pod.UID}
}

// processed says whether the evictionrequest-controller has acted on what the request
// says now.
func processed(r *evictionv1alpha1.EvictionRequest) bool {
	return r.Status.ObservedGeneration != nil && *r.Status.ObservedGeneration == r.Generation
}

func evicted(r *evictionv1alpha1.EvictionRequest) bool {
	return apimeta.IsStatusConditionTrue(r.Status.Conditions, string(evictionv1alpha1.EvictionConditionTargetEvicted))
}

func failed(r *evictionv1alpha1.EvictionRequest) bool {
	return apimeta.IsStatusConditionTrue(r.Status.Conditions, string(evictionv1alpha1.EvictionConditionFailed))
}

// exhausted says whether all responders have had their turn, in vain. Another time they
// may do better; a request that is invalid stays so.
func exhausted(r *evictionv1alpha1.EvictionRequest) bool {
	c := apimeta.FindStatusCondition(r.Status.Conditions, string(evictionv1alpha1.EvictionConditionFailed))
	return failed(r) && c.Reason == string(evictionv1alpha1.EvictionConditionReasonNoFurtherResponder)
}
