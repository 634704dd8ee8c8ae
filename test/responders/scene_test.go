// SPDX-License-Identifier: Apache-2.0

package responders

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/retry"

	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
)

// patience is how long a test waits; it is only reached when the test fails.
const patience = 2 * time.Minute

const evictor = evictionv1alpha1.EvictionResponderImperativeEviction

// scene is a namespace of a test's own.
type scene struct {
	*server

	t         *testing.T
	namespace string
	// name is the responder's.
	name string
}

func (s *server) scene(t *testing.T) *scene {
	t.Helper()
	ns, err := s.admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "case-"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &scene{server: s, t: t, namespace: ns.Name, name: ns.Name + ".example.com/backup"}
}

// pod creates a pod that names responders, the first one first; without any, this one.
func (s *scene) pod(name string, responders ...string) *corev1.Pod {
	s.t.Helper()
	if len(responders) == 0 {
		responders = []string{s.name}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "example.com/main"}}
	// The namespace is new, and its account perhaps not there yet.
	pod.Spec.AutomountServiceAccountToken = new(bool)
	pod.Spec.SchedulerName = "nobody"
	var texts []string
	for i, responder := range responders {
		priority := int32(20000 - i)
		texts = append(texts, fmt.Sprintf("%s:%d", responder, priority))
		pod.Spec.EvictionResponders = append(pod.Spec.EvictionResponders, corev1.EvictionResponder{Name: responder, Priority: &priority})
	}
	if !s.builtin {
		pod.Spec.EvictionResponders = nil
		pod.Annotations = map[string]string{evictionrequest.AnnotationResponders: strings.Join(texts, ",")}
	}
	created, err := s.admin.CoreV1().Pods(s.namespace).Create(s.t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return created
}

// remove deletes a pod at once.
func (s *scene) remove(name string) {
	s.t.Helper()
	if err := s.admin.CoreV1().Pods(s.namespace).Delete(s.t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
		s.t.Fatal(err)
	}
}

// ask asks for the eviction of a pod.
func (s *scene) ask(pod *corev1.Pod, requester string) {
	s.t.Helper()
	r := &evictionv1alpha1.EvictionRequest{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}}
	r.Spec.Target.Pod = &evictionv1alpha1.EvictionRequestPodReference{Name: pod.Name, UID: pod.UID}
	r.Spec.Requester, r.Spec.Intent = requester, evictionv1alpha1.EvictionRequestIntentEviction
	if _, err := s.admin.LifecycleV1alpha1().EvictionRequests(s.namespace).Create(s.t.Context(), r, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// withdraw takes the request for a pod back.
func (s *scene) withdraw(pod string) {
	s.t.Helper()
	requests := s.admin.LifecycleV1alpha1().EvictionRequests(s.namespace)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		r, err := requests.Get(s.t.Context(), pod, metav1.GetOptions{})
		if err != nil {
			return err
		}
		r.Spec.Intent = evictionv1alpha1.EvictionRequestIntentWithdrawn
		_, err = requests.Update(s.t.Context(), r, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// evict asks for the eviction of a pod, and returns its Eviction when the first responder
// has its turn.
func (s *scene) evict(pod *corev1.Pod) *evictionv1alpha1.Eviction {
	s.t.Helper()
	s.ask(pod, "example.com/drain")
	return s.await("pod-1-"+pod.Name, "has begun", func(e *evictionv1alpha1.Eviction) bool { return len(e.Status.TargetResponders) > 0 })
}

// change writes the status as somebody else does, until there is no conflict.
func (s *scene) change(name string, how func(*evictionv1alpha1.Eviction)) (changed *evictionv1alpha1.Eviction) {
	s.t.Helper()
	evictions := s.admin.LifecycleV1alpha1().Evictions(s.namespace)
	always := func(err error) bool { return apierrors.IsConflict(err) && s.t.Context().Err() == nil }
	err := retry.OnError(retry.DefaultRetry, always, func() error {
		e, err := evictions.Get(s.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		how(e)
		changed, err = evictions.UpdateStatus(s.t.Context(), e, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		s.t.Fatalf("change Eviction %s: %v", name, err)
	}
	return changed
}

// await waits until the Eviction is as wanted.
func (s *scene) await(name, what string, wanted func(*evictionv1alpha1.Eviction) bool) *evictionv1alpha1.Eviction {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	var last *evictionv1alpha1.Eviction
	lister := cache.NewListWatchFromClient(s.admin.LifecycleV1alpha1().RESTClient(), "evictions", s.namespace, fields.OneTermEqualSelector("metadata.name", name))
	_, err := watchtools.UntilWithSync(ctx, lister, &evictionv1alpha1.Eviction{}, nil, func(event watch.Event) (bool, error) {
		e, ok := event.Object.(*evictionv1alpha1.Eviction)
		if !ok || event.Type == watch.Deleted {
			return false, nil
		}
		last = e
		return wanted(e), nil
	})
	if err != nil {
		s.t.Fatalf("Eviction %s: waiting until it %s: %v; it was last seen as %+v", name, what, err, last)
	}
	return last
}

// now is the Eviction as it is.
func (s *scene) now(name string) *evictionv1alpha1.Eviction {
	s.t.Helper()
	return s.await(name, "is there", func(*evictionv1alpha1.Eviction) bool { return true })
}

func (s *scene) entry(e *evictionv1alpha1.Eviction, name string) evictionv1alpha1.ResponderStatus {
	s.t.Helper()
	i := slices.IndexFunc(e.Status.Responders, func(r evictionv1alpha1.ResponderStatus) bool { return r.Name == name })
	if i < 0 {
		s.t.Fatalf("Eviction %s has no entry for %s: %+v", e.Name, name, e.Status.Responders)
	}
	return e.Status.Responders[i]
}

// awaitEntry waits until the responder's entry is as wanted. Before the Eviction has begun
// there is none.
func (s *scene) awaitEntry(e *evictionv1alpha1.Eviction, what string, wanted func(evictionv1alpha1.ResponderStatus) bool) *evictionv1alpha1.Eviction {
	s.t.Helper()
	return s.await(e.Name, what, func(e *evictionv1alpha1.Eviction) bool { return wanted(s.entry(e, s.name)) })
}

func (s *scene) awaitCompleted(e *evictionv1alpha1.Eviction) *evictionv1alpha1.Eviction {
	s.t.Helper()
	return s.awaitEntry(e, "is completed", func(r evictionv1alpha1.ResponderStatus) bool { return r.CompletionTime != nil })
}

func (s *scene) awaitHeartbeat(e *evictionv1alpha1.Eviction) *evictionv1alpha1.Eviction {
	s.t.Helper()
	return s.awaitEntry(e, "has a heartbeat", func(r evictionv1alpha1.ResponderStatus) bool { return r.HeartbeatTime != nil })
}

// awaitTurn waits until it is a responder's turn.
func (s *scene) awaitTurn(e *evictionv1alpha1.Eviction, name string) *evictionv1alpha1.Eviction {
	s.t.Helper()
	return s.await(e.Name, name+" is Active", func(e *evictionv1alpha1.Eviction) bool {
		return slices.ContainsFunc(e.Status.TargetResponders, func(r evictionv1alpha1.TargetResponder) bool {
			return r.Name == name && r.State == evictionv1alpha1.ResponderStateActive
		})
	})
}
