// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-k8s/slipway/nodelease"
)

// mirrored is the value of the annotation: who works on the node, and why. It stays as it
// is when the lease is renewed.
type mirrored struct {
	Holder  string    `json:"holder"`
	Purpose string    `json:"purpose,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// mirror says on the Node who holds the lease, whoever it is.
func mirror(f Facts, held nodelease.Held, is bool) Decision {
	value := ""
	if is {
		value = mirrorOf(held)
	}
	if f.Node.Annotations[nodelease.Annotation] == value {
		return Decision{}
	}
	return do(Mirror{Value: value})
}

// Mirrored is who has the lease of a node, by what the Node says: for people. Nobody decides
// by it.
func Mirrored(node *corev1.Node) (held nodelease.Held, is bool) {
	var value mirrored
	if json.Unmarshal([]byte(node.Annotations[nodelease.Annotation]), &value) != nil || value.Holder == "" {
		return nodelease.Held{}, false
	}
	return nodelease.Held{
		Holder: value.Holder, Purpose: value.Purpose, Since: value.Since, Administrator: nodelease.IsAdministrator(value.Holder),
	}, true
}

// lastYear is the last that JSON has a text for. A lease that somebody wrote by hand can say
// a later one.
const lastYear = 9999

func mirrorOf(held nodelease.Held) string {
	value := mirrored{Holder: held.Holder, Purpose: shortened(held.Purpose)}
	if since := held.Since.UTC().Truncate(time.Second); !since.IsZero() && since.Year() <= lastYear {
		value.Since = since
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // texts, and a time that can be written
	}
	return string(text)
}
