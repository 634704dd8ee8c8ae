// SPDX-License-Identifier: Apache-2.0

package surge

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	surgeroom "github.com/slipway-k8s/slipway/internal/eviction/surge"
)

// awaitSaid waits until the responder's turn for a pod is over, and it has said so with
// these words.
func (s *scene) awaitSaid(pod *corev1.Pod, words string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	last := ""
	lister := cache.NewListWatchFromClient(s.clients.LifecycleV1alpha1().RESTClient(), "evictions", s.namespace, fields.Everything())
	_, err := watchtools.UntilWithSync(ctx, lister, &evictionv1alpha1.Eviction{}, nil, func(event watch.Event) (bool, error) {
		e, ok := event.Object.(*evictionv1alpha1.Eviction)
		if !ok || e.Spec.Target.Pod.UID != pod.UID {
			return false, nil
		}
		for _, r := range e.Status.Responders {
			if r.Name == surgeroom.Responder && r.CompletionTime != nil && r.Message != nil {
				last = *r.Message
			}
		}
		return strings.Contains(last, words), nil
	})
	if err != nil {
		s.t.Fatalf("waiting until the responder says %q: %v; it said %q", words, err, last)
	}
}

// showOnFailure shows, of a test that has failed, what the Evictions and budgets have come to.
func (s *scene) showOnFailure() {
	s.t.Cleanup(func() {
		if !s.t.Failed() {
			return
		}
		ctx := context.Background() // the test's has ended
		evictions, err := s.clients.LifecycleV1alpha1().Evictions(s.namespace).List(ctx, metav1.ListOptions{})
		budgets, budgetsErr := s.clients.PolicyV1().PodDisruptionBudgets(s.namespace).List(ctx, metav1.ListOptions{})
		if err := errors.Join(err, budgetsErr); err != nil {
			s.t.Log(err)
			return
		}
		for _, e := range evictions.Items {
			status, _ := json.Marshal(e.Status)
			s.t.Logf("Eviction %s: %s", e.Name, status)
		}
		for _, b := range budgets.Items {
			status, _ := json.Marshal(b.Status)
			s.t.Logf("budget %s, generation %d: %s", b.Name, b.Generation, status)
		}
	})
}
