// SPDX-License-Identifier: Apache-2.0

package central

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/oversight"
	"github.com/slipway-k8s/slipway/internal/node/hold"
	"github.com/slipway-k8s/slipway/internal/node/loop"
)

const (
	// podNodeField is the field by which pods belong to a node, at the API server as well.
	podNodeField = "spec.nodeName"
	// guardedField indexes the events that wait for the guards.
	guardedField = "guarded"
)

// Index adds the indices that the readers of [Options] need.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	return errors.Join(
		loop.IndexEvents(ctx, indexer),
		indexer.IndexField(ctx, &lifecyclev1alpha1.LifecycleEvent{}, guardedField, func(o client.Object) []string {
			if oversight.Guarded(o.(*lifecyclev1alpha1.LifecycleEvent)) {
				return []string{"true"}
			}
			return nil
		}),
		indexer.IndexField(ctx, &slipwayv1alpha1.NodeHold{}, hold.NodeField, func(o client.Object) []string { return nodeOfHold(o.(*slipwayv1alpha1.NodeHold)) }),
		indexer.IndexField(ctx, &corev1.Pod{}, podNodeField, func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }),
	)
}

// OverseerSources wake an Overseer.
func OverseerSources(from cache.Cache) []source.TypedSource[string] {
	return []source.TypedSource[string]{
		source.TypedKind(from, &lifecyclev1alpha1.LifecycleEvent{}, loop.NodesOf(loop.BindingNode)),
		source.TypedKind(from, &corev1.Node{}, loop.NodesOf(nodeWithEvents(from))),
		source.TypedKind(from, &corev1.Pod{}, loop.NodesOf(nodeOfPod(from))),
		source.TypedKind(from, &slipwayv1alpha1.NodeHold{}, loop.NodesOf(func(_ context.Context, h *slipwayv1alpha1.NodeHold) []string { return nodeOfHold(h) })),
		// The guards decide on all of these.
		source.TypedKind(from, &lifecyclev1alpha1.LifecycleEvent{}, loop.NodesOf(guarded[*lifecyclev1alpha1.LifecycleEvent](from)), asLeaving()),
		source.TypedKind(from, &lifecyclev1alpha1.LifecycleTransition{}, loop.NodesOf(guarded[*lifecyclev1alpha1.LifecycleTransition](from))),
		source.TypedKind(from, &corev1.Node{}, loop.NodesOf(guarded[*corev1.Node](from)), predicate.Or(asPeer(), asCounted())),
		source.TypedKind(from, &slipwayv1alpha1.NodeHold{}, loop.NodesOf(guarded[*slipwayv1alpha1.NodeHold](from))),
		source.TypedKind(from, &slipwayv1alpha1.Freeze{}, loop.NodesOf(guarded[*slipwayv1alpha1.Freeze](from))),
		source.TypedKind(from, &slipwayv1alpha1.NodeAvailabilityBudget{}, loop.NodesOf(guarded[*slipwayv1alpha1.NodeAvailabilityBudget](from)), predicate.TypedGenerationChangedPredicate[*slipwayv1alpha1.NodeAvailabilityBudget]{}),
	}
}

// nodeWithEvents names the Node, if it has events, or if a person has uncordoned it: it may have holds.
func nodeWithEvents(cached client.Reader) func(context.Context, *corev1.Node) []string {
	return func(ctx context.Context, n *corev1.Node) []string {
		if n.Annotations[hold.UncordonedBy] != "" {
			return []string{n.Name}
		}
		return loop.WithEvents(ctx, cached, n.Name)
	}
}

// nodeOfPod names the node of an agent's pod, if it has events.
func nodeOfPod(cached client.Reader) func(context.Context, *corev1.Pod) []string {
	return func(ctx context.Context, p *corev1.Pod) []string {
		return loop.WithEvents(ctx, cached, p.Spec.NodeName)
	}
}

func nodeOfHold(h *slipwayv1alpha1.NodeHold) []string { return []string{h.Spec.NodeName} }

// guarded names the nodes with events that wait for the guards.
func guarded[T client.Object](cached client.Reader) func(context.Context, T) []string {
	return func(ctx context.Context, _ T) []string {
		return loop.NodesOfEvents(ctx, cached, client.MatchingFields{guardedField: "true"})
	}
}

// asPeer drops changes of a Node that guards do not see.
func asPeer() predicate.TypedPredicate[*corev1.Node] {
	return predicate.TypedFuncs[*corev1.Node]{
		UpdateFunc: func(e event.TypedUpdateEvent[*corev1.Node]) bool { return peerOf(e.ObjectOld) != peerOf(e.ObjectNew) },
	}
}

// asLeaving drops changes of an event that do not change whether its node leaves.
func asLeaving() predicate.TypedPredicate[*lifecyclev1alpha1.LifecycleEvent] {
	type leaving struct {
		phase           lifecyclev1alpha1.ClaimStatus
		gates           int
		deleted, passed bool
	}
	of := func(e *lifecyclev1alpha1.LifecycleEvent) leaving {
		return leaving{e.Status.ClaimStatus, len(e.Spec.Gates), e.DeletionTimestamp != nil, oversight.LetPass(e)}
	}
	return predicate.TypedFuncs[*lifecyclev1alpha1.LifecycleEvent]{
		UpdateFunc: func(e event.TypedUpdateEvent[*lifecyclev1alpha1.LifecycleEvent]) bool {
			return of(e.ObjectOld) != of(e.ObjectNew)
		},
	}
}
