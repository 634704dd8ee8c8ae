// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// MaintenancesAnnotation lists on a Node the maintenances that are done with it. What is
// in it is theirs who decide about maintenances.
const MaintenancesAnnotation = slipwayv1alpha1.MaintenancesAnnotation

// ErrStale means that the Node has changed since it was seen, or is gone.
var ErrStale = errors.New("the Node has changed since")

// RecordMaintenances replaces what the Node, as it was seen, says of maintenances that are
// done with it; empty: it says nothing any more. It returns the Node as it is then.
func (w *Writer) RecordMaintenances(ctx context.Context, seen *corev1.Node, text string) (*corev1.Node, error) {
	var value any
	if text != "" {
		value = text
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": seen.ResourceVersion, "annotations": map[string]any{MaintenancesAnnotation: value},
	}})
	if err != nil {
		return nil, fmt.Errorf("encode annotation %s: %w", MaintenancesAnnotation, err)
	}
	node, err := w.nodes.Patch(ctx, w.nodeName, types.MergePatchType, patch, metav1.PatchOptions{})
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return nil, fmt.Errorf("write the maintenances of node %s: %w", w.nodeName, ErrStale)
	case err != nil:
		return nil, fmt.Errorf("write the maintenances of node %s: %w", w.nodeName, err)
	}
	return node, nil
}
