// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// The values of slipwayv1alpha1.MaintenanceEventLabel.
const (
	// LabelDrain is on the event that takes a node out.
	LabelDrain = "drain"
	// LabelReturn is on the event that puts it back.
	LabelReturn = "return"
	// LabelWork is on a Job and its pods.
	LabelWork = "work"
)

// Labelled says whether an event or a Job is of maintenances, whatever it does for them.
func Labelled(o metav1.Object) bool {
	_, is := o.GetLabels()[slipwayv1alpha1.MaintenanceEventLabel]
	return is
}

// Selector selects those that are [Labelled].
func Selector() labels.Selector {
	is, err := labels.NewRequirement(slipwayv1alpha1.MaintenanceEventLabel, selection.Exists, nil)
	if err != nil {
		panic(err) // only for a label that can be none
	}
	return labels.NewSelector().Add(*is)
}
