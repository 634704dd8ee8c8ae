// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// nodeChanged leaves out changes of a Node after which nothing else is decided: a node says
// every five minutes that it is alive.
func nodeChanged(before, after any) bool {
	a, ok := before.(*corev1.Node)
	if !ok {
		return true
	}
	b, ok := after.(*corev1.Node)
	if !ok {
		return true
	}
	return a.UID != b.UID || (a.DeletionTimestamp == nil) != (b.DeletionTimestamp == nil) ||
		!maps.Equal(a.Labels, b.Labels) || !maps.Equal(a.Annotations, b.Annotations) ||
		a.Spec.Unschedulable != b.Spec.Unschedulable || !equality.Semantic.DeepEqual(a.Spec.Taints, b.Spec.Taints) ||
		!slices.EqualFunc(a.Status.Conditions, b.Status.Conditions, sameCondition)
}

func sameCondition(a, b corev1.NodeCondition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message &&
		a.LastTransitionTime.Equal(&b.LastTransitionTime)
}
