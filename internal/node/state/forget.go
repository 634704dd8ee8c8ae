// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
	"github.com/slipway-k8s/slipway/internal/node/staticpod"
)

// annotations are those that this package writes.
var annotations = []string{
	CordonsAnnotation, HomeAnnotation, DriversAnnotation, MaintenancesAnnotation, LeaseAnnotation, slipwayv1alpha1.KeptAway,
	shutdown.Annotation, shutdown.DrainAnnotation, shutdown.DelayAnnotation, staticpod.Annotation, staticpod.HostAnnotation,
}

// labels are those that this package writes.
var labels = []string{slipwayv1alpha1.KeptAway, shutdown.Label}

// Marked says whether there is an annotation of ours on the Node, or a label.
func Marked(node *corev1.Node) bool {
	for _, name := range labels {
		if _, ok := node.Labels[name]; ok {
			return true
		}
	}
	for _, name := range annotations {
		if _, ok := node.Annotations[name]; ok {
			return true
		}
	}
	return false
}

// Forget takes our annotations and labels off the Node, for an uninstall. What they say is lost:
// undo our cordons before.
func (w *Writer) Forget(ctx context.Context) error { return w.forget(ctx, annotations) }

// ForgetAllButStaticPods is [Writer.Forget], where static pods of the machine stay away: nothing but
// the Node tells of them.
func (w *Writer) ForgetAllButStaticPods(ctx context.Context) error {
	return w.forget(ctx, slices.DeleteFunc(slices.Clone(annotations), func(a string) bool { return a == staticpod.HostAnnotation }))
}

// byHost are the annotations that slipway-host keeps on the Node as long as it is there.
var byHost = []string{shutdown.DelayAnnotation, staticpod.HostAnnotation}

// MarkedByHost says whether slipway-host says something on the Node, or has said it.
func MarkedByHost(node *corev1.Node) bool {
	return slices.ContainsFunc(byHost, func(a string) bool { return node.Annotations[a] != "" })
}

// ForgetHost takes off the Node what slipway-host says there, when that is gone.
func (w *Writer) ForgetHost(ctx context.Context) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": nothing(byHost)}})
	if err != nil {
		return fmt.Errorf("encode the annotations of node %s: %w", w.nodeName, err)
	}
	return w.patchForgotten(ctx, patch)
}

func (w *Writer) forget(ctx context.Context, annotations []string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": nothing(annotations), "labels": nothing(labels),
	}})
	if err != nil {
		return fmt.Errorf("encode the annotations of node %s: %w", w.nodeName, err)
	}
	return w.patchForgotten(ctx, patch)
}

func (w *Writer) patchForgotten(ctx context.Context, patch []byte) error {
	if _, err := w.nodes.Patch(ctx, w.nodeName, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("take the annotations off node %s: %w", w.nodeName, err)
	}
	return nil
}

func nothing(names []string) map[string]any {
	patch := map[string]any{}
	for _, name := range names {
		patch[name] = nil
	}
	return patch
}
