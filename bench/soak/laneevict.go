// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	lifecycleclient "k8s.io/client-go/kubernetes/typed/lifecycle/v1alpha1"
	"k8s.io/client-go/rest"
)

// evicter asks for the eviction of a pod, wherever it is, or withdraws that again.
type evicter struct {
	*load
	requests lifecycleclient.EvictionRequestsGetter
	random   *rand.Rand
	id       int
}

// requestsClient is for EvictionRequests. They are custom resources here, which are not spoken of in protobuf, as the
// client does of what is built in.
func (g *stage) requestsClient() (lifecycleclient.EvictionRequestsGetter, error) {
	config := rest.CopyConfig(g.admin)
	config.ContentType = runtime.ContentTypeJSON
	client, err := lifecycleclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build the client for EvictionRequests: %w", err)
	}
	return client, nil
}

func (e *evicter) once(ctx context.Context) (string, error) {
	pod, err := e.choose(ctx)
	if err != nil {
		return "the choice of a pod", err
	}
	what, withdraws := "EvictionRequests", e.random.IntN(inTurn) == 0
	if withdraws {
		what = "EvictionRequests withdrawn"
	}
	requests := e.requests.EvictionRequests(pod.Namespace)
	w, err := requests.Watch(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", e.name(pod)).String()})
	if err != nil {
		return what, fmt.Errorf("watch an EvictionRequest: %w", err)
	}
	defer w.Stop()
	r, err := requests.Create(ctx, e.request(pod), metav1.CreateOptions{})
	if err != nil {
		return what, fmt.Errorf("ask for pod %s: %w", pod.Name, err)
	}
	if withdraws {
		patch := []byte(`{"spec":{"intent":"` + string(evictionv1alpha1.EvictionRequestIntentWithdrawn) + `"}}`)
		_, err := requests.Patch(ctx, r.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return what, fmt.Errorf("withdraw the request for pod %s: %w", pod.Name, err)
		}
	}
	if err := over(w); err != nil {
		return what, fmt.Errorf("the request for pod %s: %w", pod.Name, errors.Join(err, context.Cause(ctx)))
	}
	if err := requests.Delete(ctx, r.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return what, fmt.Errorf("delete the request for pod %s: %w", pod.Name, err)
	}
	return what, nil
}

// choose is a pod that runs.
func (e *evicter) choose(ctx context.Context) (*corev1.Pod, error) {
	namespace := fmt.Sprintf("team-%d", e.random.IntN(e.settings.podsPerNode))
	list, err := e.clients.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, fmt.Errorf("list the pods of %s: %w", namespace, err)
	}
	running := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
		return p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil
	})
	if len(running) == 0 {
		return nil, fmt.Errorf("no pod of %s runs", namespace)
	}
	return &running[e.random.IntN(len(running))], nil
}

func (e *evicter) name(pod *corev1.Pod) string { return fmt.Sprintf("%s-%d", pod.Name, e.id) }

func (e *evicter) request(pod *corev1.Pod) *evictionv1alpha1.EvictionRequest {
	r := &evictionv1alpha1.EvictionRequest{ObjectMeta: metav1.ObjectMeta{Name: e.name(pod)}}
	r.Spec.Target.Pod = &evictionv1alpha1.EvictionRequestPodReference{Name: pod.Name, UID: pod.UID}
	r.Spec.Requester, r.Spec.Intent = fmt.Sprintf("example.com/soak-%d", e.id), evictionv1alpha1.EvictionRequestIntentEviction
	return r
}

// over returns when the request has come to an end: its pod is gone, or it is not acted on any more.
func over(w watch.Interface) error {
	for seen := range w.ResultChan() {
		r, ok := seen.Object.(*evictionv1alpha1.EvictionRequest)
		if !ok {
			return fmt.Errorf("%+v", seen.Object)
		}
		if seen.Type == watch.Deleted || isTrue(r.Status.Conditions,
			string(evictionv1alpha1.EvictionConditionTargetEvicted), string(evictionv1alpha1.EvictionConditionFailed)) {
			return nil
		}
	}
	return errWatchEnded
}
