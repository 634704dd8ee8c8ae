// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"crypto/sha256"
	"encoding/hex"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

const (
	// Name is as whom the evictions are asked for.
	Name = "slipway.dev/drain"
	// LabelEvent has the UID of the event that a request is for.
	LabelEvent = "slipway.dev/event-uid"
	// AnnotationEvent has the event's name, by which the API server is asked whether it is
	// there.
	AnnotationEvent = "slipway.dev/event"
	// AnnotationNode has the name of the event's node, for people.
	AnnotationNode = "slipway.dev/node"
)

// nameOf is the name of the request for a pod: the same whenever it is asked for, so that
// two processes cannot ask twice.
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

// eventOf is the event that a request is for. A request that has been given the label by
// somebody else is none of this package's.
func eventOf(r *evictionv1alpha1.EvictionRequest) (event types.UID, own bool) {
	event = types.UID(r.Labels[LabelEvent])
	pod := r.Spec.Target.Pod
	return event, event != "" && pod != nil && r.Spec.Requester == Name && r.Name == nameOf(event, pod.UID)
}
