// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// KeepAway has the Node say which pods of DaemonSets are kept away from it, by an annotation
// and the label that makes admission look at it; nothing any more, where the text is empty. It
// returns the Node as it is then: nil, if it is gone.
func (w *Writer) KeepAway(ctx context.Context, which string) (*corev1.Node, error) {
	label, annotation := any(slipwayv1alpha1.KeptAwayDaemonSets), any(which)
	if which == "" {
		label, annotation = nil, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"labels": map[string]any{slipwayv1alpha1.KeptAway: label}, "annotations": map[string]any{slipwayv1alpha1.KeptAway: annotation},
	}})
	if err != nil {
		return nil, fmt.Errorf("encode annotation %s: %w", slipwayv1alpha1.KeptAway, err)
	}
	node, err := w.nodes.Patch(ctx, w.nodeName, types.MergePatchType, patch, metav1.PatchOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // as documented
	case err != nil:
		return nil, fmt.Errorf("write which pods node %s keeps away: %w", w.nodeName, err)
	}
	return node, nil
}
