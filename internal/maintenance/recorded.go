// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// RecordsOn are what a Node says of the maintenances that are done with it. An error says that
// somebody has written there what cannot be read.
func RecordsOn(node *corev1.Node) (records []Record, err error) {
	text := node.Annotations[slipwayv1alpha1.MaintenancesAnnotation]
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &records); err != nil {
		return nil, fmt.Errorf("read annotation %s of node %s: %w", slipwayv1alpha1.MaintenancesAnnotation, node.Name, err)
	}
	return records, nil
}
