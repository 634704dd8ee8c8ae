// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// HostAnnotation says on a Node that somebody on the machine takes static pods away, and how
// far that is. It is written by slipway-host.
const HostAnnotation = "slipway.dev/static-pods-host"

// Report is the value of [HostAnnotation].
type Report struct {
	// ControlPlane: pods of the control plane, too.
	ControlPlane bool `json:"controlPlane,omitempty"`
	// Away are the pods whose manifests are away, as in [Wish]. They may be ending still.
	Away []string `json:"away,omitempty"`
	// Trouble is what is not as it is wished, sorted; the first [maxTrouble] of it.
	Trouble []Trouble `json:"trouble,omitempty"`
}

// maxTrouble is how much trouble a report names.
const maxTrouble = 20

// Trouble is one thing that is not as it is wished.
type Trouble struct {
	// Pod that it is about, as in [Wish]; the file, where nobody knows of which pod it is. Empty:
	// all of them.
	Pod string `json:"pod,omitempty"`
	// Message is for people, and says what helps.
	Message string `json:"message"`
}

// Text is the value of the annotation.
func (r Report) Text() (string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encode annotation %s: %w", HostAnnotation, err)
	}
	return string(text), nil
}

// ReportedOn reads a Node. It is nil if nobody there takes static pods away, or says so in words
// that are not ours.
func ReportedOn(node *corev1.Node) *Report {
	if node == nil || node.Annotations[HostAnnotation] == "" {
		return nil
	}
	var r Report
	if json.Unmarshal([]byte(node.Annotations[HostAnnotation]), &r) != nil {
		return nil
	}
	return &r
}
