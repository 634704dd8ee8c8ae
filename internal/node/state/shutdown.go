// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/internal/node/shutdown"
)

// AnnounceShutdown says on the Node that its machine is being shut down, or, where the text
// is empty, that it is not; and the condition. It takes the right to the Node's status only.
func (w *Writer) AnnounceShutdown(ctx context.Context, text string, condition corev1.NodeCondition) error {
	annotation, label := any(text), any("true")
	if text == "" {
		annotation, label = nil, nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"annotations": map[string]any{shutdown.Annotation: annotation}, "labels": map[string]any{shutdown.Label: label},
		},
		"status": map[string]any{"conditions": []wholeCondition{{condition, condition.Reason, condition.Message}}},
	})
	if err != nil {
		return fmt.Errorf("encode annotation %s: %w", shutdown.Annotation, err)
	}
	_, err = w.nodes.Patch(ctx, w.nodeName, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("write the shutdown of node %s: %w", w.nodeName, err)
	}
	return nil
}

// SayShutdownDelay says on the Node how long logind lets a shutdown of its machine be delayed. It
// takes the right to the Node's status only.
func (w *Writer) SayShutdownDelay(ctx context.Context, delay time.Duration) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{shutdown.DelayAnnotation: delay.String()}},
	})
	if err != nil {
		return fmt.Errorf("encode annotation %s: %w", shutdown.DelayAnnotation, err)
	}
	_, err = w.nodes.Patch(ctx, w.nodeName, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("write the delay of shutdowns of node %s: %w", w.nodeName, err)
	}
	return nil
}

// NoteShutdownDrain says on the Node, as it was seen, what became of the drain for a shutdown.
func (w *Writer) NoteShutdownDrain(ctx context.Context, seen *corev1.Node, text string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": seen.UID, "annotations": map[string]any{shutdown.DrainAnnotation: text},
	}})
	if err != nil {
		return fmt.Errorf("encode annotation %s: %w", shutdown.DrainAnnotation, err)
	}
	return w.patchShutdown(ctx, types.MergePatchType, patch)
}

// ForgetShutdown takes annotations about a shutdown off the Node, and the label with that which
// announces it. One that says something else than it did when it was seen is of another shutdown:
// then all stay.
func (w *Writer) ForgetShutdown(ctx context.Context, seen *corev1.Node, annotations []string) error {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value string `json:"value,omitempty"`
	}
	var patch []operation
	for _, key := range annotations {
		path := "/metadata/annotations/" + strings.ReplaceAll(key, "/", "~1")
		patch = append(patch, operation{"test", path, seen.Annotations[key]}, operation{"remove", path, ""})
		if _, labelled := seen.Labels[shutdown.Label]; labelled && key == shutdown.Annotation {
			patch = append(patch, operation{"remove", "/metadata/labels/" + strings.ReplaceAll(shutdown.Label, "/", "~1"), ""})
		}
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encode annotations of node %s: %w", w.nodeName, err)
	}
	return w.patchShutdown(ctx, types.JSONPatchType, text)
}

func (w *Writer) patchShutdown(ctx context.Context, kind types.PatchType, patch []byte) error {
	_, err := w.nodes.Patch(ctx, w.nodeName, kind, patch, metav1.PatchOptions{})
	switch {
	case apierrors.IsConflict(err), apierrors.IsInvalid(err), apierrors.IsNotFound(err):
		return fmt.Errorf("write the shutdown of node %s: %w", w.nodeName, ErrStale)
	case err != nil:
		return fmt.Errorf("write the shutdown of node %s: %w", w.nodeName, err)
	}
	return nil
}
