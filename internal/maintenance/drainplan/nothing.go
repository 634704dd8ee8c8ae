// SPDX-License-Identifier: Apache-2.0

package drainplan

import (
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// nowhere is a label that a pod would have to have, and not to have.
const nowhere = "slipway.dev/nowhere"

// nobody is what the selector of [Nothing] asks for.
var nobody = requirements(noPod())

// Nothing gives targets that cover no pod, for the drain of a node that is only cordoned: a
// drain without targets would move all pods but those of DaemonSets.
func Nothing() []slipwayv1alpha1.DrainTarget {
	return []slipwayv1alpha1.DrainTarget{{
		PodType: slipwayv1alpha1.PodTypeDefault, PodPriority: new(int32(math.MinInt32)), PodSelector: noPod(),
	}}
}

func noPod() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: nowhere, Operator: metav1.LabelSelectorOpExists},
		{Key: nowhere, Operator: metav1.LabelSelectorOpDoesNotExist},
	}}
}
