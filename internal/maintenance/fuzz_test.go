// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// Whatever somebody writes on an event: the maintenances that are read can be written back,
// and are the same then.
func FuzzForsOf(f *testing.F) {
	for _, seed := range []string{
		"", "null", "{}", "[]", `[{}]`, `["m"]`, `[{"uid":7}]`,
		`[{"uid":"u","name":"kernel","retry":1}]`,
		`[{"uid":"u","name":"kernel","released":true},{"uid":"v","name":"disks"}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		annotated := func(text string) *lifecyclev1alpha1.LifecycleEvent {
			return &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{
				Annotations: map[string]string{slipwayv1alpha1.MaintenancesAnnotation: text},
			}}
		}
		refs, other := Refs(annotated(text)), annotated("")
		setRefs(other, refs)
		if diff := cmp.Diff(refs, Refs(other), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("they are not the same (-before +after):\n%s", diff)
		}
		// They are asked for without a look at what is in them.
		for _, one := range refs {
			if refOf(refs, one.UID) == nil {
				t.Errorf("%q is not found", one.UID)
			}
		}
		_ = released(refs)
	})
}

// Whatever somebody writes on a Node: either it is said which annotation of which Node cannot
// be read, or the records can be written back, and are the same then.
func FuzzRecordsOn(f *testing.F) {
	for _, seed := range []string{
		"", "null", "{", "[]", `[{}]`, `[{"uid":7}]`, `[{"uid":"u","at":"half past ten"}]`,
		`[{"uid":"u","state":"Done","at":"2026-05-01T10:00:00Z"}]`,
		`[{"uid":"u","state":"Failed","retry":3,"reason":"JobFailed","message":"m","event":"e","cordon":"e","at":"2026-05-01T10:00:00.5+02:00"}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		annotated := func(text string) *corev1.Node {
			return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
				Name: "one", Annotations: map[string]string{slipwayv1alpha1.MaintenancesAnnotation: text},
			}}
		}
		records, err := RecordsOn(annotated(text))
		if err != nil {
			if want := "read annotation " + slipwayv1alpha1.MaintenancesAnnotation + " of node one: "; !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%v; want %s…", err, want)
			}
			if records != nil {
				t.Errorf("of what cannot be read, it takes %v", records)
			}
			return
		}
		written, err := json.Marshal(records)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := RecordsOn(annotated(string(written)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(records, again); diff != "" {
			t.Errorf("they are not the same (-before +after):\n%s", diff)
		}
	})
}
