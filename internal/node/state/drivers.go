// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// DriversAnnotation lists on a Node which drivers are registered there, for people. Nothing
// is decided by it.
const DriversAnnotation = "slipway.dev/drivers"

// Drivers are those that the Node says are registered. known is false where nobody has
// said anything.
func Drivers(node *corev1.Node) (names []string, known bool) {
	text, known := node.Annotations[DriversAnnotation]
	if text == "" {
		return nil, known
	}
	return strings.Split(text, ","), known
}

// SetDrivers says on the Node which drivers are registered. Where it says so already,
// nothing is written.
func (w *Writer) SetDrivers(ctx context.Context, names []string) error {
	node, err := w.nodes.Get(ctx, w.nodeName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the drivers of node %s: %w", w.nodeName, err)
	}
	if said, known := Drivers(node); known && slices.Equal(said, names) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{DriversAnnotation: strings.Join(names, ",")}},
	})
	if err != nil {
		return fmt.Errorf("encode annotation %s: %w", DriversAnnotation, err)
	}
	if _, err := w.nodes.Patch(ctx, w.nodeName, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("write the drivers of node %s: %w", w.nodeName, err)
	}
	return nil
}
