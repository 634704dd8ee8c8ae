// SPDX-License-Identifier: Apache-2.0

package cordon

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func managed(manager, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Time: &metav1.Time{Time: epoch}, FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(fields),
	}
}

func TestWhoCordonedANodeIsTheManagerOfTheField(t *testing.T) {
	for name, tc := range map[string]struct {
		fields []metav1.ManagedFieldsEntry
		want   Foreign
	}{
		"nobody": {nil, Foreign{}},
		"one manager among others": {
			[]metav1.ManagedFieldsEntry{
				managed("kubelet", `{"f:status":{"f:conditions":{}}}`),
				managed("kubectl", `{"f:spec":{"f:unschedulable":{}}}`),
				managed("kube-controller-manager", `{"f:spec":{"f:taints":{}}}`),
			},
			Foreign{By: "kubectl", Since: epoch},
		},
		"a manager without a time": {
			[]metav1.ManagedFieldsEntry{{Manager: "old", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:unschedulable":{}}}`)}},
			Foreign{By: "old"},
		},
		"entries that say nothing, or nothing that can be read": {
			[]metav1.ManagedFieldsEntry{{Manager: "empty"}, managed("broken", `{"f:spec":`), managed("b", `{"f:spec":{"f:unschedulable":{}}}`)},
			Foreign{By: "b", Since: epoch},
		},
		"a field of the same name elsewhere": {
			[]metav1.ManagedFieldsEntry{managed("a", `{"f:status":{"f:unschedulable":{}}}`)},
			Foreign{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := By(&corev1.Node{ObjectMeta: metav1.ObjectMeta{ManagedFields: tc.fields}})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
