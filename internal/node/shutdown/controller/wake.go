// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
)

// Sources wake a Shepherd: by the events of shutdowns, by the Nodes that say something of one,
// and by events that hold a node empty, which that of a shutdown may wait behind. What has none
// of these, it never looks at.
func Sources(from cache.Cache) []source.TypedSource[string] {
	return []source.TypedSource[string]{
		source.TypedKind(from, &lifecyclev1alpha1.LifecycleEvent{}, nodesOf(eventChanged)),
		source.TypedKind(from, &corev1.Node{}, nodesOf(nodeChanged)),
	}
}

func nodesOf[T client.Object](f func(context.Context, T) []string) handler.TypedEventHandler[T, string] {
	return handler.TypedEnqueueRequestsFromMapFunc(f)
}

func eventChanged(_ context.Context, e *lifecyclev1alpha1.LifecycleEvent) []string {
	if !slices.Contains(e.Finalizers, shutdown.Finalizer) && e.Annotations[shutdown.Annotation] == "" && !shutdown.HoldsEmpty(e) {
		return nil
	}
	return []string{e.Spec.BindingNode}
}

func nodeChanged(_ context.Context, n *corev1.Node) []string {
	if n.Annotations[shutdown.Annotation] == "" && n.Annotations[shutdown.DrainAnnotation] == "" {
		return nil
	}
	return []string{n.Name}
}
