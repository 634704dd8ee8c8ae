// SPDX-License-Identifier: Apache-2.0

package surge

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	surgeroom "github.com/slipway-k8s/slipway/internal/surge"
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
