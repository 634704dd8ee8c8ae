// SPDX-License-Identifier: Apache-2.0

package responderkit

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
)

// isTurnOf reports whether the responder is active in the Eviction. If it is not, the error
// is the reason for the end of its run.
func isTurnOf(name string, e *evictionv1alpha1.Eviction) (bool, error) {
	state := stateOf(name, e)
	switch {
	// A deleted pod was not canceled, regardless of the responder's state.
	case e.DeletionTimestamp != nil, isTrue(e, evictionv1alpha1.EvictionConditionTargetEvicted):
		return false, ErrGone
	case state == evictionv1alpha1.ResponderStateCanceled:
		return false, ErrCanceled
	case state == evictionv1alpha1.ResponderStateInterrupted:
		return false, ErrInterrupted
	case state != evictionv1alpha1.ResponderStateActive,
		e.Status.ObservedGeneration == nil, // the evictionrequest-controller has not seen it
		isTrue(e, evictionv1alpha1.EvictionConditionFailed),
		entryOf(name, e).CompletionTime != nil,
		e.Spec.Target.Pod == nil: // an unknown kind of target
		return false, ErrGone
	}
	return true, nil
}

func isTrue(e *evictionv1alpha1.Eviction, condition evictionv1alpha1.EvictionConditionType) bool {
	return meta.IsStatusConditionTrue(e.Status.Conditions, string(condition))
}

// stateOf returns the state of the responder, or an empty state if the Eviction does not
// list it.
func stateOf(name string, e *evictionv1alpha1.Eviction) evictionv1alpha1.ResponderStateType {
	i := slices.IndexFunc(e.Status.TargetResponders, func(r evictionv1alpha1.TargetResponder) bool { return r.Name == name })
	if i < 0 {
		return ""
	}
	return e.Status.TargetResponders[i].State
}

// entryOf returns the responder's own entry. If there is none, the entry has only the name.
func entryOf(name string, e *evictionv1alpha1.Eviction) evictionv1alpha1.ResponderStatus {
	i := slices.IndexFunc(e.Status.Responders, func(r evictionv1alpha1.ResponderStatus) bool { return r.Name == name })
	if i < 0 {
		return evictionv1alpha1.ResponderStatus{Name: name}
	}
	return *e.Status.Responders[i].DeepCopy()
}

// toEviction returns the description of an Eviction for its run.
func toEviction(e *evictionv1alpha1.Eviction, pods coreclient.PodsGetter) Eviction {
	target := e.Spec.Target.Pod
	told := Eviction{Namespace: e.Namespace, Name: e.Name, UID: e.UID, PodName: target.Name, PodUID: target.UID}
	told.ReadPod = func(ctx context.Context) (*corev1.Pod, error) { return readPod(ctx, told, pods) }
	return told
}

func readPod(ctx context.Context, e Eviction, pods coreclient.PodsGetter) (*corev1.Pod, error) {
	pod, err := pods.Pods(e.Namespace).Get(ctx, e.PodName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("%w: there is no pod %s/%s", ErrPodGone, e.Namespace, e.PodName)
	case err != nil:
		return nil, fmt.Errorf("read pod %s/%s: %w", e.Namespace, e.PodName, err)
	case pod.UID != e.PodUID:
		return nil, fmt.Errorf("%w: pod %s/%s was replaced by a pod with UID %s instead of %s", ErrPodGone, e.Namespace, e.PodName, pod.UID, e.PodUID)
	}
	return pod, nil
}
