// SPDX-License-Identifier: Apache-2.0

package cordon

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Annotation lists the owners of the cordon of a Node.
const Annotation = "slipway.dev/cordons"

// Record is the value of the annotation.
type Record struct {
	Owners []Owner `json:"owners"`
	// Before is the third-party cordon before Slipway's, if there was one.
	Before *Foreign `json:"before,omitempty"`
}

// Owner is an event that a Node is cordoned for.
type Owner struct {
	Event string    `json:"event"`
	UID   types.UID `json:"uid"`
	Since time.Time `json:"since"`
}

// Foreign is a third-party cordon.
type Foreign struct {
	// By is the field manager that made the Node unschedulable, such as "kubectl". It may be empty.
	By string `json:"by,omitempty"`
	// Since may be zero.
	Since time.Time `json:"since,omitzero"`
}

// String names the cordon in messages.
func (f Foreign) String() string {
	text := "another party"
	if f.By != "" {
		text = fmt.Sprintf("%q", f.By)
	}
	if !f.Since.IsZero() {
		text += " at " + f.Since.UTC().Format(time.RFC3339)
	}
	return text
}

// On reads the annotation. An unreadable one counts as absent: Slipway did not write it.
func On(node *corev1.Node) Record {
	var record Record
	if err := json.Unmarshal([]byte(node.Annotations[Annotation]), &record); err != nil {
		return Record{}
	}
	return record
}

// By returns the last writer of spec.unschedulable according to the managed fields; empty if they have none.
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
