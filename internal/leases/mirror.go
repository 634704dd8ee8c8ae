// SPDX-License-Identifier: Apache-2.0

package leases

import (
	"encoding/json"
	"time"

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

func mirrorOf(held nodelease.Held) string {
	value := mirrored{Holder: held.Holder, Purpose: shortened(held.Purpose)}
	if !held.Since.IsZero() {
		value.Since = held.Since.UTC().Truncate(time.Second)
	}
	text, err := json.Marshal(value)
	if err != nil { // a time beyond the year 9999, of a lease that somebody wrote by hand
		text, _ = json.Marshal(mirrored{Holder: value.Holder, Purpose: value.Purpose})
	}
	return string(text)
}
