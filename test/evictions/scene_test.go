// SPDX-License-Identifier: Apache-2.0

package evictions

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/retry"

	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
)

// patience is how long a test waits for something that should come, unless it says otherwise.
const patience = time.Minute

// scene is a namespace of a test's own.
type scene struct {
	*ground
	t         *testing.T
	namespace string
	patience  time.Duration
}

func (g *ground) scene(t *testing.T) *scene {
	t.Helper()
	return &scene{ground: g, t: t, namespace: g.env.Namespace(t, nil).Name, patience: patience}
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// pod is a pod with responders of its own. It is bound to no node, so it goes when it is
// deleted, and ends when the test says so.
func (s *scene) pod(name string, responders ...corev1.EvictionResponder) *corev1.Pod {
	s.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pod.Spec.SchedulerName = "nobody"
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "example.com/none"}}
	pod.Spec.EvictionResponders = responders
	if !s.builtin && len(responders) > 0 {
		var texts []string
		for _, r := range responders {
			texts = append(texts, fmt.Sprintf("%s:%d", r.Name, *r.Priority))
		}
		pod.Annotations = map[string]string{evictionrequest.AnnotationResponders: strings.Join(texts, ",")}
	}
	created, err := s.clients.CoreV1().Pods(s.namespace).Create(s.t.Context(), pod, metav1.CreateOptions{})
	s.must(err)
	return created
}

func responder(name string, priority int32) corev1.EvictionResponder {
	return corev1.EvictionResponder{Name: name, Priority: &priority}
}

// remove deletes a pod, as a responder does.
func (s *scene) remove(pod *corev1.Pod) {
	s.t.Helper()
	s.must(s.clients.CoreV1().Pods(s.namespace).Delete(s.t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
}

// ask creates a request for a pod.
func (s *scene) ask(name string, pod *corev1.Pod, edits ...func(*evictionv1alpha1.EvictionRequest)) {
	s.t.Helper()
	r := &evictionv1alpha1.EvictionRequest{ObjectMeta: metav1.ObjectMeta{Name: name}}
	r.Spec.Target.Pod = &evictionv1alpha1.EvictionRequestPodReference{Name: pod.Name, UID: pod.UID}
	r.Spec.Requester, r.Spec.Intent = "example.com/"+name, evictionv1alpha1.EvictionRequestIntentEviction
	for _, edit := range edits {
		edit(r)
	}
	_, err := s.clients.LifecycleV1alpha1().EvictionRequests(s.namespace).Create(s.t.Context(), r, metav1.CreateOptions{})
	s.must(err)
}

// intend changes what a requester wants.
func (s *scene) intend(name string, intent evictionv1alpha1.EvictionRequestIntent) {
	s.t.Helper()
	requests := s.clients.LifecycleV1alpha1().EvictionRequests(s.namespace)
	s.must(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		r, err := requests.Get(s.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		r.Spec.Intent = intent
		_, err = requests.Update(s.t.Context(), r, metav1.UpdateOptions{})
		return err
	}))
}

func (s *scene) withdraw(name string) {
	s.intend(name, evictionv1alpha1.EvictionRequestIntentWithdrawn)
}

// takeBack deletes a request.
func (s *scene) takeBack(name string) {
	s.t.Helper()
	s.must(s.clients.LifecycleV1alpha1().EvictionRequests(s.namespace).Delete(s.t.Context(), name, metav1.DeleteOptions{}))
}

// respond changes what a responder says of an Eviction. The server's refusal is returned.
func (s *scene) respond(eviction, responder string, say func(*evictionv1alpha1.ResponderStatus)) error {
	s.t.Helper()
	evictions := s.clients.LifecycleV1alpha1().Evictions(s.namespace)
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		e, err := evictions.Get(s.t.Context(), eviction, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for i := range e.Status.Responders {
			if e.Status.Responders[i].Name == responder {
				say(&e.Status.Responders[i])
			}
		}
		_, err = evictions.UpdateStatus(s.t.Context(), e, metav1.UpdateOptions{})
		return err
	})
}

func completed(at time.Time) func(*evictionv1alpha1.ResponderStatus) {
	return func(r *evictionv1alpha1.ResponderStatus) { r.CompletionTime = &metav1.Time{Time: at} }
}

func alive(at time.Time) func(*evictionv1alpha1.ResponderStatus) {
	return func(r *evictionv1alpha1.ResponderStatus) { r.HeartbeatTime = &metav1.Time{Time: at} }
}

// awaitEviction waits until an Eviction is as wanted, and returns it.
func (s *scene) awaitEviction(name, what string, is func(*evictionv1alpha1.Eviction) bool) *evictionv1alpha1.Eviction {
	s.t.Helper()
	return await(s, "evictions", name, what, &evictionv1alpha1.Eviction{}, is)
}

// awaitActive waits until it is a responder's turn.
func (s *scene) awaitActive(eviction, responder string) *evictionv1alpha1.Eviction {
	s.t.Helper()
	return s.awaitEviction(eviction, responder+" is Active", func(e *evictionv1alpha1.Eviction) bool {
		return stateOf(e, responder) == evictionv1alpha1.ResponderStateActive
	})
}

// awaitTold waits until a requester has been told how it ended.
func (s *scene) awaitTold(name, condition string, reason evictionv1alpha1.EvictionConditionReason) {
	s.t.Helper()
	await(s, "evictionrequests", name, condition+" "+string(reason), &evictionv1alpha1.EvictionRequest{}, func(r *evictionv1alpha1.EvictionRequest) bool {
		return r.Status.ObservedGeneration != nil && *r.Status.ObservedGeneration == r.Generation && has(r.Status.Conditions, condition, reason)
	})
}

func has(conditions []metav1.Condition, condition string, reason evictionv1alpha1.EvictionConditionReason) bool {
	for _, c := range conditions {
		if c.Type == condition && c.Status == metav1.ConditionTrue && c.Reason == string(reason) {
			return true
		}
	}
	return false
}

// awaitGone waits until an Eviction is gone.
func (s *scene) awaitGone(name string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), s.patience)
	defer cancel()
	gone := func(store cache.Store) (bool, error) { return len(store.List()) == 0, nil }
	_, err := watchtools.UntilWithSync(ctx, s.lister("evictions", name), &evictionv1alpha1.Eviction{}, gone, func(e watch.Event) (bool, error) {
		return e.Type == watch.Deleted, nil
	})
	if err != nil {
		s.t.Fatalf("Eviction %s is still there: %v", name, err)
	}
}

func (s *scene) lister(resource, name string) cache.ListerWatcher {
	return cache.NewListWatchFromClient(s.clients.LifecycleV1alpha1().RESTClient(), resource, s.namespace, fields.OneTermEqualSelector("metadata.name", name))
}

func await[T runtime.Object](s *scene, resource, name, what string, example T, is func(T) bool) T {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), s.patience)
	defer cancel()
	var last T
	_, err := watchtools.UntilWithSync(ctx, s.lister(resource, name), example, nil, func(e watch.Event) (bool, error) {
		seen, ok := e.Object.(T)
		if !ok {
			return false, nil
		}
		last = seen
		return e.Type != watch.Deleted && is(last), nil
	})
	if err != nil {
		s.t.Fatalf("wait until %s %s: %s: %v; last seen: %+v", resource, name, what, err, last)
	}
	return last
}

func stateOf(e *evictionv1alpha1.Eviction, responder string) evictionv1alpha1.ResponderStateType {
	for _, r := range e.Status.TargetResponders {
		if r.Name == responder {
			return r.State
		}
	}
	return ""
}

var updateOptions = metav1.UpdateOptions{}

// eviction creates an Eviction, which only the controller should do.
func (s *scene) eviction(name string, pod *corev1.Pod) {
	s.t.Helper()
	e := &evictionv1alpha1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name}}
	e.Spec.Target.Pod = &evictionv1alpha1.EvictionPodReference{Name: pod.Name, UID: pod.UID}
	_, err := s.clients.LifecycleV1alpha1().Evictions(s.namespace).Create(s.t.Context(), e, metav1.CreateOptions{})
	s.must(err)
}
