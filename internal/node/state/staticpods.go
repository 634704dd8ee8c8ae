// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/internal/node/staticpod"
)

// WishStaticPodsAway has the Node wish static pods away for an event that it is cordoned for,
// besides those that it has wished away for it before. The wish goes with that cordon.
func (w *Writer) WishStaticPodsAway(ctx context.Context, wish staticpod.Wish) error {
	cordoned := false
	err := w.change(ctx, "wish static pods away from", func(_ *corev1.Node, state cordonState) cordonState {
		if cordoned = state.isFor(wish.UID); cordoned {
			state.wishes = staticpod.With(state.wishes, wish)
		}
		return state
	})
	if err == nil && !cordoned {
		return fmt.Errorf("wish static pods away from node %s: it is not cordoned for event %s", w.nodeName, wish.Event)
	}
	return err
}

// ReportStaticPods says on the Node what became of static pods; nothing, where the text is
// empty. It takes the right to the Node's status only.
func (w *Writer) ReportStaticPods(ctx context.Context, text string) error {
	annotation := any(text)
	if text == "" {
		annotation = nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{staticpod.HostAnnotation: annotation}},
	})
	if err != nil {
		return fmt.Errorf("encode annotation %s: %w", staticpod.HostAnnotation, err)
	}
	_, err = w.nodes.Patch(ctx, w.nodeName, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("write the static pods of node %s: %w", w.nodeName, err)
	}
	return nil
}

// wishesOf reads what a Node wishes. What cannot be read was not written by us.
func wishesOf(node *corev1.Node) []staticpod.Wish {
	wishes, err := staticpod.WishesOn(node)
	if err != nil {
		return nil
	}
	return wishes
}
