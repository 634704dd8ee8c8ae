// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/eviction/requester"
	"github.com/slipway-k8s/slipway/test/harness"
)

// cases are told on a cluster of either kind.
var cases = map[string]func(*scene){
	"a pod that is left to its responders goes, and its request goes": func(s *scene) {
		pod := s.pod(s.node, "a")
		s.leave(pod)
		r := s.awaitAsked(pod)
		if diff := cmp.Diff(map[string]string{requester.LabelEvent: string(s.event.UID)}, r.Labels); diff != "" {
			s.t.Errorf("labels (-want +got):\n%s", diff)
		}
		want := map[string]string{requester.AnnotationEvent: s.event.Name, requester.AnnotationNode: s.node.Name}
		if diff := cmp.Diff(want, r.Annotations); diff != "" {
			s.t.Errorf("annotations (-want +got):\n%s", diff)
		}
		s.awaitActive(pod)
		s.must(s.env.Client.Delete(s.t.Context(), pod, client.GracePeriodSeconds(0))) // as a responder does
		s.awaitNoRequests()
	},
	"a node that lies gets no pod evicted but its own": func(s *scene) {
		foreign := s.pod(s.other, "foreign")
		static := s.pod(s.node, "static", func(p *corev1.Pod) {
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, corev1.MirrorPodAnnotationKey, "hash")
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: s.node.Name, UID: s.nodeUID(), Controller: new(true)}}
		})
		lonely := s.pod(s.node, "lonely", func(p *corev1.Pod) { p.Annotations = nil })
		own, late := s.pod(s.node, "own"), s.pod(s.node, "late")
		another := own.DeepCopy()
		another.UID = foreign.UID // under the name of one of its own
		s.leave(foreign, static, lonely, another, own)
		s.awaitAsked(own)
		s.leave(foreign, static, lonely, another, own, late)
		s.awaitAsked(late) // by then, the others have been refused
		if diff := cmp.Diff(map[string]bool{"own": true, "late": true}, s.asked()); diff != "" {
			s.t.Errorf("asked for (-want +got):\n%s", diff)
		}
	},
	"an event that is canceled takes its requests back": func(s *scene) {
		pod := s.pod(s.node, "a")
		s.leave(pod)
		s.awaitActive(pod)
		intents, canceled := s.untilDeleted(), s.untilCanceled(pod)
		s.must(s.env.Client.Delete(s.t.Context(), s.event))
		canceled()
		s.awaitNoRequests()
		want := []evictionv1alpha1.EvictionRequestIntent{evictionv1alpha1.EvictionRequestIntentEviction, evictionv1alpha1.EvictionRequestIntentWithdrawn}
		if diff := cmp.Diff(want, intents()); diff != "" {
			s.t.Errorf("what it wanted (-want +got):\n%s", diff)
		}
	},
	"an event that has ended takes its requests back": func(s *scene) {
		pod := s.pod(s.node, "a")
		s.leave(pod)
		s.awaitActive(pod)
		canceled := s.untilCanceled(pod)
		s.write(func(status *lifecyclev1alpha1.LifecycleEventStatus) { status.ClaimStatus = lifecyclev1alpha1.Failed })
		canceled()
		s.awaitNoRequests()
	},
	"a pod that the drain does not leave to responders any more": func(s *scene) {
		a, b := s.pod(s.node, "a"), s.pod(s.node, "b")
		s.leave(a, b)
		s.awaitActive(a)
		s.awaitActive(b)
		canceled := s.untilCanceled(a)
		s.leave(b)
		canceled()
		s.leave(a, b)
		s.awaitActive(a)
		if diff := cmp.Diff(map[string]bool{"a": true, "b": true}, s.asked()); diff != "" {
			s.t.Errorf("asked for (-want +got):\n%s", diff)
		}
	},
	"an orphan": func(s *scene) {
		pod := s.pod(s.node, "a")
		s.leave(pod)
		r := s.awaitAsked(pod)
		s.awaitActive(pod)
		s.env.StripFinalizers(s.t, s.event)
		s.must(s.env.Client.Delete(s.t.Context(), s.event))
		s.awaitNoRequests()
		// Somebody restores it from a backup.
		s.must(s.env.Client.Create(s.t.Context(), &evictionv1alpha1.EvictionRequest{
			ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name, Labels: r.Labels, Annotations: r.Annotations}, Spec: r.Spec,
		}))
		s.awaitNoRequests()
	},
	"two hundred pods at once": func(s *scene) {
		var pods []*corev1.Pod
		for i := range 200 {
			pods = append(pods, s.pod(s.node, fmt.Sprintf("p-%03d", i)))
		}
		began := time.Now()
		s.leave(pods...)
		s.awaitCount(len(pods))
		s.t.Logf("%d pods were asked for within %s", len(pods), time.Since(began).Round(time.Millisecond))
		began = time.Now()
		s.must(s.env.Client.Delete(s.t.Context(), s.event))
		s.awaitNoRequests()
		s.t.Logf("and taken back within %s", time.Since(began).Round(time.Millisecond))
	},
}

// awaitCount waits until there are requests for so many pods.
func (s *scene) awaitCount(n int) {
	s.t.Helper()
	seen := map[string]bool{}
	harness.Await(s.t, s.env, fmt.Sprintf("is the last of %d EvictionRequests", n), &evictionv1alpha1.EvictionRequestList{},
		func(r *evictionv1alpha1.EvictionRequest) bool {
			seen[r.Name] = true
			return len(seen) == n
		}, client.InNamespace(s.namespace))
}
