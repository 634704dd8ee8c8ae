// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

func TestForWhichNodesATransitionIs(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"pool": "blue"}}}
	invalid := poolSelector("blue")
	invalid.NodeSelectorTerms[0].MatchExpressions[0].Operator = "Like"
	for name, tc := range map[string]struct {
		spec lifecyclev1alpha1.LifecycleTransitionSpec
		why  string // it does not apply
	}{
		"for all":                {lifecyclev1alpha1.LifecycleTransitionSpec{AllNodes: new(true)}, ""},
		"not for all":            {lifecyclev1alpha1.LifecycleTransitionSpec{AllNodes: new(false)}, "it names no nodes"},
		"for none":               {lifecyclev1alpha1.LifecycleTransitionSpec{}, "it names no nodes"},
		"for this node":          {lifecyclev1alpha1.LifecycleTransitionSpec{NodeName: "n"}, ""},
		"for another node":       {lifecyclev1alpha1.LifecycleTransitionSpec{NodeName: "m"}, `its spec.nodeName is "m"`},
		"for nodes as this one":  {lifecyclev1alpha1.LifecycleTransitionSpec{NodeSelector: poolSelector("blue")}, ""},
		"for nodes of elsewhere": {lifecyclev1alpha1.LifecycleTransitionSpec{NodeSelector: poolSelector("red")}, "its spec.nodeSelector does not match the node's labels"},
		"for nobody knows whom": {
			lifecyclev1alpha1.LifecycleTransitionSpec{NodeSelector: invalid},
			`its spec.nodeSelector is not valid: nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Like": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"`,
		},
	} {
		transition := &lifecyclev1alpha1.LifecycleTransition{Spec: tc.spec}
		if got := doesNotApply(transition, node); got != tc.why {
			t.Errorf("%s: got %q; want %q", name, got, tc.why)
		}
		if got := Applies(transition, node); got != (tc.why == "") {
			t.Errorf("%s: it applies: %t", name, got)
		}
	}
}
