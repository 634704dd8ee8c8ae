// SPDX-License-Identifier: Apache-2.0

package drainplan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

func TestANodeAloneNeedsNoStepsThatADrainTakesByItself(t *testing.T) {
	of := func(podType slipwayv1alpha1.PodType, priority int32) slipwayv1alpha1.DrainTarget {
		return slipwayv1alpha1.DrainTarget{PodType: podType, PodPriority: &priority}
	}
	const highest = 2147483647
	postgres := of(slipwayv1alpha1.PodTypeDefault, 2000)
	postgres.PodSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "postgres"}}
	for name, tc := range map[string]struct{ plan, want []slipwayv1alpha1.DrainTarget }{
		"no plan: one step": {
			nil, []slipwayv1alpha1.DrainTarget{of(slipwayv1alpha1.PodTypeDefault, highest)},
		},
		"priorities only: one step": {
			[]slipwayv1alpha1.DrainTarget{of(slipwayv1alpha1.PodTypeDefault, 5000)},
			[]slipwayv1alpha1.DrainTarget{of(slipwayv1alpha1.PodTypeDefault, highest)},
		},
		"a selector parts what is before it from what comes after": {
			[]slipwayv1alpha1.DrainTarget{of(slipwayv1alpha1.PodTypeDefault, 1000), postgres},
			[]slipwayv1alpha1.DrainTarget{of(slipwayv1alpha1.PodTypeDefault, 1000), postgres, of(slipwayv1alpha1.PodTypeDefault, highest)},
		},
		"types come one after the other": {
			[]slipwayv1alpha1.DrainTarget{of(slipwayv1alpha1.PodTypeDaemonSet, 0)},
			[]slipwayv1alpha1.DrainTarget{of(slipwayv1alpha1.PodTypeDefault, highest), of(slipwayv1alpha1.PodTypeDaemonSet, highest)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Alone(Complete(tc.plan))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
