// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// RecordsOf are what a Node says of maintenances that are done with it. An error is that it
// cannot be read: then it was not written by us, and counts as nothing.
func RecordsOf(node *corev1.Node) (records []Record, err error) {
	text := node.Annotations[slipwayv1alpha1.MaintenancesAnnotation]
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &records); err != nil {
		return nil, fmt.Errorf("read annotation %s of node %s: %w", slipwayv1alpha1.MaintenancesAnnotation, node.Name, err)
	}
	return records, nil
}

// TextOf is what is to be written to a Node, so that [RecordsOf] reads these records. None:
// an empty text.
func TextOf(records []Record) (string, error) {
	if len(records) == 0 {
		return "", nil
	}
	text, err := json.Marshal(records)
	if err != nil {
		return "", fmt.Errorf("encode records of maintenances: %w", err)
	}
	return string(text), nil
}
