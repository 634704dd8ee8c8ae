// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

func TestTheSelectorSelectsWhatIsLabelled(t *testing.T) {
	for name, tc := range map[string]struct {
		labels map[string]string
		want   bool
	}{
		"a drain":             {map[string]string{slipwayv1alpha1.MaintenanceEventLabel: LabelDrain}, true},
		"a Job":               {map[string]string{slipwayv1alpha1.MaintenanceEventLabel: LabelWork, "a": "b"}, true},
		"what is not known":   {map[string]string{slipwayv1alpha1.MaintenanceEventLabel: ""}, true},
		"no labels":           {nil, false},
		"another one's label": {map[string]string{slipwayv1alpha1.WorkNodeLabel: "one"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Labelled(&metav1.ObjectMeta{Labels: tc.labels}); got != tc.want {
				t.Errorf("it is labelled: %v", got)
			}
			if got := Selector().Matches(labels.Set(tc.labels)); got != tc.want {
				t.Errorf("it is selected: %v", got)
			}
		})
	}
}
