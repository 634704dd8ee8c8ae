// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"crypto/sha256"
	"encoding/hex"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// maxBaseName leaves room for the hash in the name of a core Event.
const maxBaseName = 200

// sink names core Events after what they tell. One that is there already, by this process
// or by the one before it, is not created again.
type sink struct{ record.EventSink }

// Create creates a core Event.
func (s sink) Create(event *corev1.Event) (*corev1.Event, error) {
	if notice, has := event.Annotations[lifecyclev1alpha1.NoticeAnnotation]; has {
		event.Name = nameOf(event.InvolvedObject.Name, event.InvolvedObject.Kind, notice)
	}
	return s.EventSink.Create(event)
}

func nameOf(object, kind, notice string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + notice))
	return object[:min(len(object), maxBaseName)] + "." + hex.EncodeToString(sum[:8])
}
