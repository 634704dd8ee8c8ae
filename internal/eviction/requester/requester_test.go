// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
)

func TestAPodSaysWhoRespondsForIt(t *testing.T) {
	for name, tc := range map[string]struct {
		pod  corev1.Pod
		want bool
	}{
		"nobody but the last one": {},
		"its spec":                {corev1.Pod{Spec: corev1.PodSpec{EvictionResponders: []corev1.EvictionResponder{{Name: "example.com/backup"}}}}, true},
		"its annotation": {corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			evictionrequest.AnnotationResponders: "example.com/backup:20000",
		}}}, true},
		"an annotation that is wrong": {corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			evictionrequest.AnnotationResponders: "backup",
		}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := ByPod(t.Context(), &tc.pod); err != nil || got != tc.want {
				t.Errorf("got %v, error %v", got, err)
			}
		})
	}
}

func TestAnEventMayAskForAllItsPods(t *testing.T) {
	for parameters, want := range map[string]bool{
		"":                           false,
		`{}`:                         false,
		`{"mode":"Auto"}`:            false,
		`{"mode":"EvictionRequest"}`: true,
		`{"mode":7}`:                 false,
	} {
		e := &lifecyclev1alpha1.LifecycleEvent{}
		if parameters != "" {
			e.Spec.Parameters = &runtime.RawExtension{Raw: []byte(parameters)}
		}
		if got := wantsAll(e); got != want {
			t.Errorf("parameters %q: got %v", parameters, got)
		}
	}
}

func TestTheNameIsTheSameForAnEventAndAPod(t *testing.T) {
	first := nameOf("e1", "p1")
	if first != nameOf("e1", "p1") || first == nameOf("e1", "p2") || first == nameOf("e2", "p1") {
		t.Error("names do not tell requests apart")
	}
	if problems := validation.IsDNS1123Subdomain(first); len(problems) > 0 {
		t.Error(strings.Join(problems, "; "))
	}
}

func TestARequestWithTheLabelOfAnotherIsLeftAlone(t *testing.T) {
	e := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Name: "drain-n1", UID: "e1"}}
	for name, edit := range map[string]func(*evictionv1alpha1.EvictionRequest){
		"another requester": func(r *evictionv1alpha1.EvictionRequest) { r.Spec.Requester = "example.com/drain" },
		"another name":      func(r *evictionv1alpha1.EvictionRequest) { r.Name = "mine" },
		"another event":     func(r *evictionv1alpha1.EvictionRequest) { r.Labels[LabelEvent] = "e2" },
		"no target":         func(r *evictionv1alpha1.EvictionRequest) { r.Spec.Target.Pod = nil },
	} {
		r := newRequest(e, reference("a"))
		if event, own := eventOf(r); event != "e1" || !own {
			t.Fatalf("its own request is one of event %q, own %v", event, own)
		}
		edit(r)
		if _, own := eventOf(r); own {
			t.Errorf("%s: it counts as its own", name)
		}
	}
}
