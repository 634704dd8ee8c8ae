// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Step is one thing to do. Each may be done twice.
type Step interface {
	// pod returns the pod that the step is about, empty for the event itself. An event has one step of a kind
	// for each pod.
	pod() lifecyclev1alpha1.PodReference
}

type (
	// Confirm looks for the event at the API server: a cache may not have it yet. The facts are then gathered
	// again.
	Confirm struct{}
	// Look reads a pod that the event names from the API server.
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
		// Request is the one that has failed; empty: the pod has no responder.
		Request types.UID
	}
	// Refuse leaves a pod alone for as long as the event names it.
	Refuse struct {
		Event *lifecyclev1alpha1.LifecycleEvent
		Pod   lifecyclev1alpha1.PodReference
		Why   string
		// Lies says that no correct driver names such a pod.
		Lies bool
	}
	// Withdraw sets the intent of a request to Withdrawn.
	Withdraw struct {
		Request *evictionv1alpha1.EvictionRequest
	}
	// Delete deletes a request that has done its work.
	Delete struct {
		Request *evictionv1alpha1.EvictionRequest
	}
)

func (Confirm) pod() lifecyclev1alpha1.PodReference    { return lifecyclev1alpha1.PodReference{} }
func (s Look) pod() lifecyclev1alpha1.PodReference     { return s.Pod }
func (s Ask) pod() lifecyclev1alpha1.PodReference      { return subject(s.Request) }
func (s Refuse) pod() lifecyclev1alpha1.PodReference   { return s.Pod }
func (s Wait) pod() lifecyclev1alpha1.PodReference     { return s.Pod }
func (s Withdraw) pod() lifecyclev1alpha1.PodReference { return subject(s.Request) }
func (s Delete) pod() lifecyclev1alpha1.PodReference   { return subject(s.Request) }

// Next returns the next steps for an event, in any order. None: nothing is to be done until the facts change.
func Next(f Facts) []Step {
	named := map[lifecyclev1alpha1.PodReference]bool{}
	for _, pod := range f.named() {
		named[pod] = true
	}
	var steps []Step
	for _, r := range f.Requests {
		pod := subject(r)
		if step := forRequest(f, r, named[pod]); step != nil {
			steps = append(steps, step)
		}
		delete(named, pod)
	}
	if f.Event == nil && !f.Confirmed && len(steps) > 0 {
		return []Step{Confirm{}}
	}
	for _, pod := range f.named() {
		if !named[pod] || f.Settled[pod] {
			continue
		}
		delete(named, pod) // it may be named twice
		if step := forPod(f, pod); step != nil {
			steps = append(steps, step)
		}
	}
	return steps
}

// forRequest returns the next step for a request; named says whether the event names its pod.
func forRequest(f Facts, r *evictionv1alpha1.EvictionRequest, named bool) Step {
	withdrawn := r.Spec.Intent == evictionv1alpha1.EvictionRequestIntentWithdrawn
	switch {
	case r.DeletionTimestamp != nil:
		return nil
	case processed(r) && (evicted(r) || withdrawn):
		// A withdrawn request has done its work once the controller has processed it. The eviction goes on while other
		// requesters want it, and the conditions of this request say nothing of that. If the event names the pod
		// again, there will be a new request.
		return Delete{Request: r}
	case withdrawn:
		return nil // until it is processed
	case named:
		return again(f, r)
	case processed(r) && failed(r):
		return Delete{Request: r}
	default:
		return Withdraw{Request: r}
	}
}

// again returns the next step for a request whose pod is still named. If the event asks for all its pods, the
// drain itself evicts none: a request that all responders have failed is replaced after a while.
func again(f Facts, r *evictionv1alpha1.EvictionRequest) Step {
	if !processed(r) || !exhausted(r) || !asksForAll(f.Event) {
		return nil // until the pod is gone
	}
	pod := subject(r)
	switch wait := f.Waits[pod]; {
	case wait.Request != r.UID:
		return Wait{Pod: pod, Request: r.UID}
	case wait.Over:
		return Delete{Request: r}
	default:
		return nil
	}
}

// forPod returns the next step for a named pod without a request.
func forPod(f Facts, pod lifecyclev1alpha1.PodReference) Step {
	if !isPod(pod) {
		return Refuse{Event: f.Event, Pod: pod, Why: "there can be no such pod", Lies: true}
	}
	if wait, waits := f.Waits[pod]; waits && wait.Request == "" && !wait.Over && !asksForAll(f.Event) {
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
		return Wait{Pod: pod} // that can change
	}
	return Ask{Request: newRequest(f.Event, pod)}
}

// refuse returns why no request is created for a pod that the event names; nil if nothing is against one. This
// check keeps a compromised node from having pods evicted that run elsewhere.
func refuse(e *lifecyclev1alpha1.LifecycleEvent, named lifecyclev1alpha1.PodReference, pod *corev1.Pod) *Refuse {
	refused := func(lies bool, why string) *Refuse {
		return &Refuse{Event: e, Pod: named, Why: why, Lies: lies}
	}
	switch {
	case pod == nil || pod.UID != named.UID:
		return refused(false, "it is gone")
	case pod.Spec.NodeName == "":
		return refused(true, "it is on no node")
	case pod.Spec.NodeName != e.Spec.BindingNode:
		return refused(true, fmt.Sprintf("it is on node %s", pod.Spec.NodeName))
	case isMirror(pod):
		return refused(true, "it is a static pod, which the kubelet would start again")
	case isDaemon(pod):
		return refused(true, "it is of a DaemonSet, which would start it again")
	case pod.DeletionTimestamp != nil:
		return refused(false, "it is being deleted")
	case pod.Status.Phase == corev1.PodSucceeded, pod.Status.Phase == corev1.PodFailed:
		return refused(false, "it has ended")
	default:
		return nil
	}
}

// maxUID is the maximum length of a UID, in bytes; one has 36.
const maxUID = 128

// isPod says whether a pod can have that name. Something else may be a path of another resource.
func isPod(p lifecyclev1alpha1.PodReference) bool {
	return len(validation.IsDNS1123Label(p.Namespace)) == 0 && len(validation.IsDNS1123Subdomain(p.Name)) == 0 &&
		p.UID != "" && len(p.UID) <= maxUID
}

func isMirror(pod *corev1.Pod) bool {
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return mirror
}

func isDaemon(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "DaemonSet" && owner.APIVersion == appsv1.SchemeGroupVersion.String()
}
