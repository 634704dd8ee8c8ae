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
	"github.com/slipway-k8s/slipway/internal/lifecycle/oversight"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
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
		indexer.IndexField(ctx, &lifecyclev1alpha1.LifecycleEvent{}, lifecycleevent.BindingNodeField, eventsNode),
		indexer.IndexField(ctx, &lifecyclev1alpha1.LifecycleEvent{}, guardedField, whetherGuarded),
		indexer.IndexField(ctx, &corev1.Pod{}, podNodeField, podsNode),
	)
}

func eventsNode(o client.Object) []string {
	return []string{o.(*lifecyclev1alpha1.LifecycleEvent).Spec.BindingNode}
}

func whetherGuarded(o client.Object) []string {
	if oversight.Guarded(o.(*lifecyclev1alpha1.LifecycleEvent)) {
		return []string{"true"}
	}
	return nil
}

func podsNode(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }

// OverseerSources wake an Overseer.
func OverseerSources(from cache.Cache) []source.TypedSource[string] {
	b := bell{from}
	return []source.TypedSource[string]{
		source.TypedKind(from, &lifecyclev1alpha1.LifecycleEvent{}, loop.NodesOf(loop.BindingNode)),
		source.TypedKind(from, &lifecyclev1alpha1.LifecycleEvent{}, loop.NodesOf(b.leavingChanged), asLeaving()),
		source.TypedKind(from, &lifecyclev1alpha1.LifecycleTransition{}, loop.NodesOf(b.transitionChanged)),
		source.TypedKind(from, &corev1.Node{}, loop.NodesOf(b.nodeChanged)),
		source.TypedKind(from, &corev1.Node{}, loop.NodesOf(b.peerChanged), asPeer()),
		source.TypedKind(from, &corev1.Pod{}, loop.NodesOf(b.podChanged)),
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
		phase   lifecyclev1alpha1.ClaimStatus
		gates   int
		deleted bool
	}
	of := func(e *lifecyclev1alpha1.LifecycleEvent) leaving {
		return leaving{e.Status.ClaimStatus, len(e.Spec.Gates), e.DeletionTimestamp != nil}
	}
	return predicate.TypedFuncs[*lifecyclev1alpha1.LifecycleEvent]{
		UpdateFunc: func(e event.TypedUpdateEvent[*lifecyclev1alpha1.LifecycleEvent]) bool {
			return of(e.ObjectOld) != of(e.ObjectNew)
		},
	}
}

// bell names the nodes that a change wakes: only nodes with events.
type bell struct{ cached client.Reader }

func (b bell) leavingChanged(ctx context.Context, _ *lifecyclev1alpha1.LifecycleEvent) []string {
	return b.waiting(ctx)
}

// transitionChanged: whether a transition returns nodes is the guards' business.
func (b bell) transitionChanged(ctx context.Context, _ *lifecyclev1alpha1.LifecycleTransition) []string {
	return b.waiting(ctx)
}

func (b bell) nodeChanged(ctx context.Context, n *corev1.Node) []string {
	return loop.WithEvents(ctx, b.cached, n.Name)
}

// drainChanged names the node, if it has events, or shows the drain of an event that may be gone.
func (b bell) drainChanged(ctx context.Context, n *corev1.Node) []string {
	if transition.DrainShown(n) {
		return []string{n.Name}
	}
	return b.nodeChanged(ctx, n)
}

func (b bell) peerChanged(ctx context.Context, _ *corev1.Node) []string { return b.waiting(ctx) }

func (b bell) podChanged(ctx context.Context, p *corev1.Pod) []string {
	return loop.WithEvents(ctx, b.cached, p.Spec.NodeName)
}

// waiting names the nodes with events that wait for the guards.
func (b bell) waiting(ctx context.Context) []string {
	return loop.NodesOfEvents(ctx, b.cached, client.MatchingFields{guardedField: "true"})
}
