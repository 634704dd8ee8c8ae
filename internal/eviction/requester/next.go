// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

type podReference = lifecyclev1alpha1.PodReference

// Facts are the known facts about an event at one moment.
type Facts struct {
	// UID is the event's UID.
	UID types.UID
	// Event is nil if no event with that UID is known.
	Event *lifecyclev1alpha1.LifecycleEvent
	// Confirmed means that the API server, not a cache, has reported the event as missing.
	Confirmed bool
	// Requests are the requests of this package for the event.
	Requests []*evictionv1alpha1.EvictionRequest
	// Seen are the API server's answers about pods that the event names.
	Seen map[podReference]Seen
	// Notes are the memory of the pods that the event names.
	Notes map[podReference]Note
}

// Seen is the API server's answer about a pod.
type Seen struct {
	// Pod is the pod with that name, whatever its UID; nil if no pod has the name.
	Pod *corev1.Pod
	// Responders reports a responder in addition to the last one, which every pod has.
	Responders bool
}

// Note is the memory of a pod.
type Note struct {
	// Settled means that the pod needs no step while the event names it: it was refused, or was evicted.
	Settled bool
	// Until is the end of a wait.
	Until time.Time
	// Request is the request that all responders have failed; empty if the pod waits because it has no responder.
	Request types.UID
	// Failures is the number of such requests.
	Failures int
}

// named returns the pods that the event leaves to responders: none unless it is claimed.
func (f Facts) named() []podReference {
	if e := f.Event; e == nil || e.Status.ClaimStatus != lifecyclev1alpha1.Claimed || e.DeletionTimestamp != nil {
		return nil
	}
	return f.Event.Status.LeftToResponders
}

// wantsAll reports whether the event wants requests for all its pods, including pods without responders. Invalid
// parameters have no mode; the driver reports them.
func wantsAll(e *lifecyclev1alpha1.LifecycleEvent) bool {
	var parameters struct {
		Mode slipwayv1alpha1.DrainMode `json:"mode"`
	}
	return e.Spec.Parameters != nil && json.Unmarshal(e.Spec.Parameters.Raw, &parameters) == nil && parameters.Mode == slipwayv1alpha1.DrainEvictionRequest
}

// Step is one step. Repeating it is harmless.
type Step interface {
	// pod returns the pod of the step, empty for the event itself. An event has one step of a kind for each pod.
	pod() podReference
}

type (
	// Confirm looks for the event at the API server: a cache may not have it yet. The facts are then gathered
	// again.
	Confirm struct{}
	// Look reads a pod that the event names from the API server.
	Look struct {
		Pod podReference
	}
	// Ask creates a request.
	Ask struct {
		Request *evictionv1alpha1.EvictionRequest
	}
	// Wait ignores a pod for some time, which grows with each request that all responders have failed.
	Wait struct {
		Pod podReference
		// Request is the failed request; empty if the pod has no responder.
		Request types.UID
	}
	// Refuse ignores a pod while the event names it.
	Refuse struct {
		Event *lifecyclev1alpha1.LifecycleEvent
		Pod   podReference
		Why   string
		// Lies means that no correct driver names such a pod.
		Lies bool
	}
	// Withdraw sets the intent of a request to Withdrawn.
	Withdraw struct {
		Request *evictionv1alpha1.EvictionRequest
	}
	// Delete deletes a completed request.
	Delete struct {
		Request *evictionv1alpha1.EvictionRequest
	}
)

func (Confirm) pod() podReference    { return podReference{} }
func (s Look) pod() podReference     { return s.Pod }
func (s Ask) pod() podReference      { return subject(s.Request) }
func (s Refuse) pod() podReference   { return s.Pod }
func (s Wait) pod() podReference     { return s.Pod }
func (s Withdraw) pod() podReference { return subject(s.Request) }
func (s Delete) pod() podReference   { return subject(s.Request) }

// Next returns the next steps for an event, in any order. Without steps, the event waits for new facts.
func Next(f Facts, now time.Time) []Step {
	named := map[podReference]bool{}
	for _, pod := range f.named() {
		named[pod] = true
	}
	var steps []Step
	for _, r := range f.Requests {
		pod := subject(r)
		if step := forRequest(f, r, named[pod], now); step != nil {
			steps = append(steps, step)
		}
		delete(named, pod)
	}
	if f.Event == nil && !f.Confirmed && len(steps) > 0 {
		return []Step{Confirm{}}
	}
	for _, pod := range f.named() {
		if !named[pod] || f.Notes[pod].Settled {
			continue
		}
		delete(named, pod) // the event may name it twice
		if step := forPod(f, pod, now); step != nil {
			steps = append(steps, step)
		}
	}
	return steps
}

// forRequest returns the next step for a request; named means that the event names its pod.
func forRequest(f Facts, r *evictionv1alpha1.EvictionRequest, named bool, now time.Time) Step {
	withdrawn := r.Spec.Intent == evictionv1alpha1.EvictionRequestIntentWithdrawn
	processed := r.Status.ObservedGeneration != nil && *r.Status.ObservedGeneration == r.Generation
	failed := apimeta.FindStatusCondition(r.Status.Conditions, string(evictionv1alpha1.EvictionConditionFailed))
	hasFailed := processed && failed != nil && failed.Status == metav1.ConditionTrue
	switch {
	case r.DeletionTimestamp != nil:
		return nil
	case processed && (evicted(r) || withdrawn):
		// A withdrawn request is complete once the controller has processed it. The eviction continues while other
		// requesters want it, and the conditions of this request do not show that. If the event names the pod
		// again, it gets a new request.
		return Delete{Request: r}
	case withdrawn:
		return nil // until the controller has processed it
	case named && hasFailed && failed.Reason == string(evictionv1alpha1.EvictionConditionReasonNoFurtherResponder) && wantsAll(f.Event):
		// The drain itself evicts no pod of such an event, so another request follows after a while.
		switch note := f.Notes[subject(r)]; {
		case note.Request != r.UID:
			return Wait{Pod: subject(r), Request: r.UID}
		case now.Before(note.Until):
			return nil
		}
		return Delete{Request: r}
	case named:
		return nil // until the pod is deleted
	case hasFailed:
		return Delete{Request: r}
	default:
		return Withdraw{Request: r}
	}
}

func evicted(r *evictionv1alpha1.EvictionRequest) bool {
	return apimeta.IsStatusConditionTrue(r.Status.Conditions, string(evictionv1alpha1.EvictionConditionTargetEvicted))
}

// forPod returns the next step for a named pod without a request.
func forPod(f Facts, pod podReference, now time.Time) Step {
	if !isPod(pod) {
		return Refuse{Event: f.Event, Pod: pod, Why: "no pod can have that name", Lies: true}
	}
	if note := f.Notes[pod]; note.Request == "" && now.Before(note.Until) && !wantsAll(f.Event) {
		return nil
	}
	seen, looked := f.Seen[pod]
	if !looked {
		return Look{Pod: pod}
	}
	if refusal := refuse(f.Event, pod, seen.Pod); refusal != nil {
		return *refusal
	}
	if !seen.Responders {
		return Wait{Pod: pod} // the pod may get a responder
	}
	return Ask{Request: newRequest(f.Event, pod)}
}

// refuse returns the refusal of a pod that the event names; nil if the pod gets a request. This check keeps a
// compromised node from evicting pods that run elsewhere.
func refuse(e *lifecyclev1alpha1.LifecycleEvent, named podReference, pod *corev1.Pod) *Refuse {
	refused := func(lies bool, why string) *Refuse {
		return &Refuse{Event: e, Pod: named, Why: why, Lies: lies}
	}
	if pod == nil || pod.UID != named.UID {
		return refused(false, "the pod does not exist")
	}
	_, isMirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	owner := metav1.GetControllerOf(pod)
	switch {
	case pod.Spec.NodeName == "":
		return refused(true, "the pod runs on no node")
	case pod.Spec.NodeName != e.Spec.BindingNode:
		return refused(true, fmt.Sprintf("the pod runs on node %s", pod.Spec.NodeName))
	case isMirror:
		return refused(true, "the kubelet would start this static pod again")
	case owner != nil && owner.Kind == "DaemonSet" && owner.APIVersion == appsv1.SchemeGroupVersion.String():
		return refused(true, "its DaemonSet would start the pod again")
	case pod.DeletionTimestamp != nil:
		return refused(false, "the pod is terminating")
	case pod.Status.Phase == corev1.PodSucceeded, pod.Status.Phase == corev1.PodFailed:
		return refused(false, "the pod has ended")
	default:
		return nil
	}
}

// maxUID is the maximum length of a UID, in bytes; one has 36.
const maxUID = 128

// isPod reports whether a pod can have that name. Any other name may be a path of another resource.
func isPod(p podReference) bool {
	return len(validation.IsDNS1123Label(p.Namespace)) == 0 && len(validation.IsDNS1123Subdomain(p.Name)) == 0 &&
		p.UID != "" && len(p.UID) <= maxUID
}

const (
	// Name is the requester in EvictionRequests of this package.
	Name = "slipway.dev/drain"
	// LabelEvent has the UID of the request's event.
	LabelEvent = "slipway.dev/event-uid"
	// AnnotationEvent has the event's name, under which the API server has the event.
	AnnotationEvent = "slipway.dev/event"
	// AnnotationNode has the name of the event's node, for administrators.
	AnnotationNode = "slipway.dev/node"
)

// nameOf returns the name of the request for a pod. It depends on these UIDs only, so that two processes cannot
// create two requests.
func nameOf(event, pod types.UID) string {
	sum := sha256.Sum256([]byte(event + "/" + pod))
	return "slipway-drain-" + hex.EncodeToString(sum[:10])
}

func newRequest(e *lifecyclev1alpha1.LifecycleEvent, pod podReference) *evictionv1alpha1.EvictionRequest {
	r := &evictionv1alpha1.EvictionRequest{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: nameOf(e.UID, pod.UID),
		Labels:      map[string]string{LabelEvent: string(e.UID)},
		Annotations: map[string]string{AnnotationEvent: e.Name, AnnotationNode: e.Spec.BindingNode},
	}}
	r.Spec.Target.Pod = &evictionv1alpha1.EvictionRequestPodReference{Name: pod.Name, UID: pod.UID}
	r.Spec.Requester, r.Spec.Intent = Name, evictionv1alpha1.EvictionRequestIntentEviction
	return r
}

// eventOf returns the event of a request. A third-party request with the label is not own.
func eventOf(r *evictionv1alpha1.EvictionRequest) (event types.UID, own bool) {
	event = types.UID(r.Labels[LabelEvent])
	pod := r.Spec.Target.Pod
	return event, event != "" && pod != nil && r.Spec.Requester == Name && r.Name == nameOf(event, pod.UID)
}

// subject returns the pod of a request.
func subject(r *evictionv1alpha1.EvictionRequest) podReference {
	return podReference{Namespace: r.Namespace, Name: r.Spec.Target.Pod.Name, UID: r.Spec.Target.Pod.UID}
}
