// SPDX-License-Identifier: Apache-2.0

package shutdown

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

func annotatedWith(annotation, text string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: map[string]string{annotation: text}}}
}

// Whatever a machine says of a shutdown: what is read of it can be written back, and says the
// same then. The event for it is one that the API server takes, and has some time, but not any.
func FuzzAnnouncedOn(f *testing.F) {
	for _, seed := range []string{
		"", "{", "null", "[]", `{"bootID":"b"}`,
		`{"bootID":"b","since":"2026-01-02T03:04:05Z","until":"2026-01-02T03:09:05Z"}`,
		`{"bootID":"b","since":"2026-01-02T03:04:05.123456789+02:00"}`,
		`{"bootID":"b","since":"0001-01-01T00:00:01Z","until":"9999-12-31T23:59:59Z"}`,
		`{"bootID":"a/b\u0000","since":"2026-01-02T03:04:05Z","until":7}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		said := AnnouncedOn(annotatedWith(Annotation, text))
		if said == nil {
			return
		}
		written, err := said.Text()
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if diff := cmp.Diff(said, AnnouncedOn(annotatedWith(Annotation, written))); diff != "" {
			t.Errorf("it does not say the same (-before +after):\n%s", diff)
		}
		event := newEvent("n", *said)
		if problems := validation.IsDNS1123Subdomain(event.Name); len(problems) > 0 {
			t.Errorf("the event would be called %q: %q", event.Name, problems)
		}
		if sla := event.Spec.SLA.Duration; sla < time.Second || sla > MaxDrain {
			t.Errorf("it has %s", sla)
		}
	})
}

// Whatever a Node says of the drain for a shutdown: what is read of it can be written back, and
// says the same then.
func FuzzDrainedOn(f *testing.F) {
	for _, seed := range []string{
		"", "7", "null", `{"shutdown":"b/2026-01-02T03:04:05Z"}`,
		`{"shutdown":"b/2026-01-02T03:04:05Z","event":"e","uid":"u","outcome":"Succeeded"}`,
		`{"shutdown":"b","outcome":"Unheard"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		drain := DrainedOn(annotatedWith(DrainAnnotation, text))
		if drain == nil {
			return
		}
		written, err := drain.Text()
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if diff := cmp.Diff(drain, DrainedOn(annotatedWith(DrainAnnotation, written))); diff != "" {
			t.Errorf("it does not say the same (-before +after):\n%s", diff)
		}
	})
}

// Whatever somebody asks a drain for: a node is held empty only by one that has reached what it
// was asked for, and that says so.
func FuzzHoldsEmpty(f *testing.F) {
	for _, seed := range []string{
		"", "{", `{"hold":true}`, `{"hold":true,"targets":[]}`, `{"hold":true,"targets":[{"podType":"Default"}]}`,
		`{"hold":true,"targets":[{"podType":"Default","podPriority":7}]}`, `{"hold":true,"targets":[{"podType":"DaemonSet"}]}`,
		`{"hold":true,"targets":[{"podType":"Default","podSelector":{"matchLabels":{"app":"web"}}}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, parameters string) {
		event := &lifecyclev1alpha1.LifecycleEvent{
			Spec: lifecyclev1alpha1.LifecycleEventSpec{Parameters: &runtime.RawExtension{Raw: []byte(parameters)}},
			Status: lifecyclev1alpha1.LifecycleEventStatus{
				ClaimStatus: lifecyclev1alpha1.Claimed,
				Conditions:  []metav1.Condition{{Type: lifecyclev1alpha1.ConditionTargetsReached, Status: metav1.ConditionTrue}},
			},
		}
		if !HoldsEmpty(event) {
			return
		}
		for name, change := range map[string]func(*lifecyclev1alpha1.LifecycleEvent){
			"is not claimed":          func(e *lifecyclev1alpha1.LifecycleEvent) { e.Status.ClaimStatus = lifecyclev1alpha1.Pending },
			"is being deleted":        func(e *lifecyclev1alpha1.LifecycleEvent) { e.DeletionTimestamp = &metav1.Time{} },
			"asks for nothing":        func(e *lifecyclev1alpha1.LifecycleEvent) { e.Spec.Parameters = nil },
			"has been changed":        func(e *lifecyclev1alpha1.LifecycleEvent) { e.Generation++ },
			"has not reached targets": func(e *lifecyclev1alpha1.LifecycleEvent) { e.Status.Conditions[0].Status = metav1.ConditionFalse },
		} {
			other := event.DeepCopy()
			change(other)
			if HoldsEmpty(other) {
				t.Errorf("one that %s keeps the node empty, for %s", name, parameters)
			}
		}
	})
}
