// SPDX-License-Identifier: Apache-2.0

package cordon

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Annotation lists on a Node who of us cordoned it.
const Annotation = "slipway.dev/cordons"

// Noted is the value of the annotation.
type Noted struct {
	Owners []Owner `json:"owners"`
	// Before is the cordon that was there before ours, if there was one.
	Before *Foreign `json:"before,omitempty"`
}

// Owner is an event that a Node is cordoned for.
type Owner struct {
	Event string    `json:"event"`
	UID   types.UID `json:"uid"`
	Since time.Time `json:"since"`
}

// Foreign is a cordon that is not ours.
type Foreign struct {
	// By is the field manager that made the Node unschedulable, such as
	// "kubectl". It may be empty.
	By string `json:"by,omitempty"`
	// Since is when it did so. It may be zero.
	Since time.Time `json:"since,omitzero"`
}

// String names the cordon for people.
func (f Foreign) String() string {
	text := "somebody else"
	if f.By != "" {
		text = fmt.Sprintf("%q", f.By)
	}
	if !f.Since.IsZero() {
		text += " at " + f.Since.UTC().Format(time.RFC3339)
	}
	return text
}

// NotedOn reads the annotation. One that cannot be read counts as absent: it was not
// written by us.
func NotedOn(node *corev1.Node) Noted {
	var noted Noted
	if err := json.Unmarshal([]byte(node.Annotations[Annotation]), &noted); err != nil {
		return Noted{}
	}
	return noted
}
