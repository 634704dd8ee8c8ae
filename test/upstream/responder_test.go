// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/utils/clock"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/eviction/evictor"
	"github.com/slipway-k8s/slipway/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

const role = "responder"

// skipped are the Evictions that the last responder must leave alone: its label, and a change of a status by which it is
// active.
var skipped = map[string]struct {
	label string
	so    func(*evictionv1alpha1.EvictionStatus)
}{
	"should skip processing for a non-annotated eviction":       {"", nil},
	"should skip processing for incorrectly annotated eviction": {"requester", nil},
	"should skip processing for non observed eviction":          {role, func(s *evictionv1alpha1.EvictionStatus) { s.ObservedGeneration = nil }},
	"should skip processing for failed eviction":                {role, over(failed, evictionv1alpha1.EvictionConditionReasonEvictionInvalid)},
	"should skip processing for evicted eviction":               {role, over(evicted, evictionv1alpha1.EvictionConditionReasonPodDeleted)},
	"should skip processing for eviction with completionTime":   {role, func(s *evictionv1alpha1.EvictionStatus) { s.Responders[0].CompletionTime = s.Responders[0].StartTime }},
	"should skip processing for inactive eviction": {role, func(s *evictionv1alpha1.EvictionStatus) {
		started := s.Responders[0].StartTime
		s.TargetResponders = []evictionv1alpha1.TargetResponder{{Name: responderA, Priority: new(int32(1000)), State: active}, {Name: last, Priority: new(int32(100)), State: inactive}}
		s.Responders = []evictionv1alpha1.ResponderStatus{{Name: responderA, StartTime: started}, {Name: last}}
	}},
}

func over(condition string, reason evictionv1alpha1.EvictionConditionReason) func(*evictionv1alpha1.EvictionStatus) {
	return func(s *evictionv1alpha1.EvictionStatus) {
		s.Conditions = []metav1.Condition{{Type: condition, Status: metav1.ConditionTrue, Reason: string(reason), LastTransitionTime: metav1.Now(), Message: "message"}}
		s.TargetResponders[0].State = inactive
		s.Responders[0].StartTime = nil
	}
}

// TestResponderSkipProcessing has the last responder finish another Eviction after it has seen all of these.
func TestResponderSkipProcessing(t *testing.T) {
	s := newServer(t)
	var names []string
	for name, tc := range skipped {
		i := len(names)
		names = append(names, name)
		s.evict(fmt.Sprint("skip-", i), tc.label, tc.so)
	}
	s.evict("normal", role, nil)
	s.await("normal", "it has completed", func(own evictionv1alpha1.ResponderStatus) bool { return own.CompletionTime != nil })
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			e, err := s.clients.LifecycleV1alpha1().Evictions(s.namespace).Get(t.Context(), fmt.Sprint("skip-", i), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if own := entry(e); own.HeartbeatTime != nil || own.ExpectedCompletionTime != nil || own.Message != nil {
				t.Errorf("the responder wrote %+v", own)
			}
			if _, err := s.clients.CoreV1().Pods(s.namespace).Get(t.Context(), fmt.Sprint("skip-", i), metav1.GetOptions{}); err != nil {
				t.Errorf("the pod: %v", err)
			}
		})
	}
}

// TestResponderEviction has upstream's case "normal eviction": a pod that a finalizer keeps.
func TestResponderEviction(t *testing.T) {
	s := newServer(t)
	pods := s.clients.CoreV1().Pods(s.namespace)
	s.evict("normal", role, nil, "eviction-responder/test")
	began := time.Now()
	s.await("normal", "it expects the end", func(own evictionv1alpha1.ResponderStatus) bool {
		return own.StartTime != nil && own.HeartbeatTime != nil && own.ExpectedCompletionTime != nil && own.CompletionTime == nil
	})
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it reported after %s; upstream within 3 s", took)
	}
	if _, err := pods.Patch(t.Context(), "normal", "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	s.await("normal", "it has completed", func(own evictionv1alpha1.ResponderStatus) bool {
		return own.CompletionTime != nil && own.Message != nil && *own.Message == "the pod has ended"
	})
}

type server struct {
	t         *testing.T
	clients   kubernetes.Interface
	namespace string
}

// newServer returns a namespace of a server with the built-in API, and runs the last responder there. The test writes
// what the evictionrequest-controller writes.
func newServer(t *testing.T) *server {
	t.Helper()
	env := harness.Own(t, harness.Options{Group: lifecyclev1alpha1.GroupSlipway, LauncherArgs: []string{
		"--feature-gates", "EvictionRequestAPI=true", "--runtime-config", lifecyclev1alpha1.GroupKubernetes + "/v1alpha1=true",
	}})
	config := rest.CopyConfig(env.Admin)
	config.ContentType = "application/json"
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	responder, err := evictor.New(config, clock.RealClock{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- responder.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return &server{t, clients, env.Namespace(t, nil).Name}
}

// evict creates a pod, and an Eviction of it by which the last responder is active, with changes.
func (s *server) evict(name, label string, so func(*evictionv1alpha1.EvictionStatus), finalizers ...string) {
	s.t.Helper()
	ctx := s.t.Context()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers}}
	pod.Spec.SchedulerName = "none"
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "example.com/none"}}
	pod, err := s.clients.CoreV1().Pods(s.namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	e := &evictionv1alpha1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if label != "" {
		e.Labels = map[string]string{last: label}
	}
	e.Spec.Target.Pod = &evictionv1alpha1.EvictionPodReference{Name: name, UID: pod.UID}
	evictions := s.clients.LifecycleV1alpha1().Evictions(s.namespace)
	if e, err = evictions.Create(ctx, e, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	e.Status = evictionv1alpha1.EvictionStatus{
		ObservedGeneration: new(int64(1)),
		TargetResponders:   []evictionv1alpha1.TargetResponder{{Name: last, Priority: new(int32(100)), State: active}},
		Responders:         []evictionv1alpha1.ResponderStatus{{Name: last, StartTime: new(metav1.Now())}},
	}
	if so != nil {
		so(&e.Status)
	}
	if _, err := evictions.UpdateStatus(ctx, e, metav1.UpdateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// await waits until the entry of the last responder is as wanted.
func (s *server) await(name, what string, is func(evictionv1alpha1.ResponderStatus) bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	lister := cache.NewListWatchFromClient(s.clients.LifecycleV1alpha1().RESTClient(), "evictions", s.namespace, fields.OneTermEqualSelector("metadata.name", name))
	if _, err := watchtools.UntilWithSync(ctx, lister, &evictionv1alpha1.Eviction{}, nil, func(event watch.Event) (bool, error) {
		e, ok := event.Object.(*evictionv1alpha1.Eviction)
		return ok && is(entry(e)), nil
	}); err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
}

func entry(e *evictionv1alpha1.Eviction) evictionv1alpha1.ResponderStatus {
	for _, r := range e.Status.Responders {
		if r.Name == last {
			return r
		}
	}
	return evictionv1alpha1.ResponderStatus{}
}
