// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/nodelease"
)

// LeaseAnnotation says on a Node who holds its lease, and why.
const LeaseAnnotation = nodelease.Annotation

// SetLease says on the Node who holds its lease; nothing, where the value is empty. A Node
// that is gone is not an error.
func (w *Writer) SetLease(ctx context.Context, value string) error {
	annotation := any(value)
	if value == "" {
		annotation = nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{LeaseAnnotation: annotation}},
	})
	if err != nil {
		return fmt.Errorf("encode annotation %s: %w", LeaseAnnotation, err)
	}
	_, err = w.nodes.Patch(ctx, w.nodeName, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write the lease of node %s: %w", w.nodeName, err)
	}
	return nil
}
