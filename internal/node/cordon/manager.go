// SPDX-License-Identifier: Apache-2.0

package cordon

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
)

// By names who made the Node unschedulable, by the managed fields: who last wrote
// spec.unschedulable. It is empty where nobody knows.
func By(node *corev1.Node) Foreign {
	for _, entry := range node.ManagedFields {
		if entry.FieldsV1 == nil {
			continue
		}
		var fields struct {
			Spec map[string]json.RawMessage `json:"f:spec"`
		}
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
			continue
		}
		if _, ok := fields.Spec["f:unschedulable"]; !ok {
			continue
		}
		found := Foreign{By: entry.Manager}
		if entry.Time != nil {
			found.Since = entry.Time.Time
		}
		return found
	}
	return Foreign{}
}
