// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// Facts are what is known of an event at one moment.
type Facts struct {
	// UID is that of the event.
	UID types.UID
	// Event is nil if none of that UID is known.
	Event *lifecyclev1alpha1.LifecycleEvent
	// Confirmed says that the API server, not a cache, has reported the event as missing.
	Confirmed bool
	// Requests are those of this package for the event.
	Requests []*evictionv1alpha1.EvictionRequest
	// Seen is what the API server has said of pods that the event names.
	Seen map[lifecyclev1alpha1.PodReference]Seen
	// Settled are the pods that the event is done with: they were refused, or are gone.
	Settled map[lifecyclev1alpha1.PodReference]bool
	// Waits are the pods that the event leaves alone for a while.
	Waits map[lifecyclev1alpha1.PodReference]Waiting
}

// Waiting is why a pod is left alone for a while.
type Waiting struct {
	// Request is the request that all responders have failed; empty: the pod has no responder.
	Request types.UID
	// Over says that the while has passed.
	Over bool
}

// Seen is what the API server has said of a pod.
type Seen struct {
	// Pod is the pod of that name, whatever its UID; nil if there is none.
	Pod *corev1.Pod
	// Responders says whether it has a responder besides the one that comes last for every pod.
	Responders bool
}

// named returns the pods that the event leaves to responders: none unless it is at work.
func (f Facts) named() []lifecyclev1alpha1.PodReference {
	if e := f.Event; e == nil || e.Status.ClaimStatus != lifecyclev1alpha1.Claimed || e.DeletionTimestamp != nil {
		return nil
	}
	return f.Event.Status.LeftToResponders
}

// asksForAll says whether the event wants requests for all its pods, also for those without responders of
// their own. Invalid parameters have no mode: the driver reports what is wrong with them.
func asksForAll(e *lifecyclev1alpha1.LifecycleEvent) bool {
	var parameters struct {
		Mode slipwayv1alpha1.DrainMode `json:"mode"`
	}
	return e.Spec.Parameters != nil && json.Unmarshal(e.Spec.Parameters.Raw, &parameters) == nil && parameters.Mode == slipwayv1alpha1.DrainEvictionRequest
}

const (
	// Name is the requester in EvictionRequests of this package.
	Name = "slipway.dev/drain"
	// LabelEvent has the UID of the event that a request is for.
	LabelEvent = "slipway.dev/event-uid"
	// AnnotationEvent has the event's name, under which the API server has the event.
	AnnotationEvent = "slipway.dev/event"
	// AnnotationNode has the name of the event's node, for people.
	AnnotationNode = "slipway.dev/node"
)

// nameOf returns the name of the request for a pod. It depends on nothing else, so that two processes cannot
// create two.
func nameOf(event, pod types.UID) string {
	sum := sha256.Sum256([]byte(event + "/" + pod))
	return "slipway-drain-" + hex.EncodeToString(sum[:10])
}

func newRequest(e *lifecyclev1alpha1.LifecycleEvent, pod lifecyclev1alpha1.PodReference) *evictionv1alpha1.EvictionRequest {
	r := &evictionv1alpha1.EvictionRequest{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: nameOf(e.UID, pod.UID),
		Labels:      map[string]string{LabelEvent: string(e.UID)},
		Annotations: map[string]string{AnnotationEvent: e.Name, AnnotationNode: e.Spec.BindingNode},
	}}
	r.Spec.Target.Pod = &evictionv1alpha1.EvictionRequestPodReference{Name: pod.Name, UID: pod.UID}
	r.Spec.Requester, r.Spec.Intent = Name, evictionv1alpha1.EvictionRequestIntentEviction
	return r
}

// eventOf returns the event that a request is for. A third-party request with the label is not own.
func eventOf(r *evictionv1alpha1.EvictionRequest) (event types.UID, own bool) {
	event = types.UID(r.Labels[LabelEvent])
	pod := r.Spec.Target.Pod
	return event, event != "" && pod != nil && r.Spec.Requester == Name && r.Name == nameOf(event, pod.UID)
}

// subject returns the pod that a request is about.
func subject(r *evictionv1alpha1.EvictionRequest) lifecyclev1alpha1.PodReference {
	return lifecyclev1alpha1.PodReference{Namespace: r.Namespace, Name: r.Spec.Target.Pod.Name, UID: r.Spec.Target.Pod.UID}
}

// processed says whether the evictionrequest-controller has acted on the current spec of the request.
func processed(r *evictionv1alpha1.EvictionRequest) bool {
	return r.Status.ObservedGeneration != nil && *r.Status.ObservedGeneration == r.Generation
}

func evicted(r *evictionv1alpha1.EvictionRequest) bool {
	return apimeta.IsStatusConditionTrue(r.Status.Conditions, string(evictionv1alpha1.EvictionConditionTargetEvicted))
}

func failed(r *evictionv1alpha1.EvictionRequest) bool {
	return apimeta.IsStatusConditionTrue(r.Status.Conditions, string(evictionv1alpha1.EvictionConditionFailed))
}

// exhausted says whether all responders have failed. Another time they may succeed; an invalid request cannot.
func exhausted(r *evictionv1alpha1.EvictionRequest) bool {
	c := apimeta.FindStatusCondition(r.Status.Conditions, string(evictionv1alpha1.EvictionConditionFailed))
	return failed(r) && c.Reason == string(evictionv1alpha1.EvictionConditionReasonNoFurtherResponder)
}
