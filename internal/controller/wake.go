// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"time"

	"github.com/slipway-k8s/slipway/internal/lifecycleevent"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/oversight"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
)

// The backoff after errors, which are those of API requests.
const (
	errorBackoffBase = 100 * time.Millisecond
	errorBackoffCap  = 5 * time.Second
)

// addOverseer makes the manager run the overseer, node by node.
func (p *process) addOverseer() error {
	o := &overseer{
		options: p.options, clock: p.clock, cached: p.manager.GetCache(), live: p.manager.GetAPIReader(),
		recorder: record.New(p.manager.GetClient()), writer: p.writer, observer: p.observer, lost: map[string]oversight.Sighting{},
	}
	c, err := controller.NewTyped("overseer", p.manager, controller.TypedOptions[string]{
		Reconciler:              p.health.Loop(o),
		MaxConcurrentReconciles: 1, // guards are decided one after another
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[string](errorBackoffBase, errorBackoffCap),
	})
	if err != nil {
		return fmt.Errorf("build the overseer: %w", err)
	}
	b := bell{p.manager.GetCache()}
	for _, s := range []source.TypedSource[string]{
		source.TypedKind(p.manager.GetCache(), &lifecyclev1alpha1.LifecycleEvent{}, nodesOf(b.eventChanged)),
		source.TypedKind(p.manager.GetCache(), &lifecyclev1alpha1.LifecycleEvent{}, nodesOf(b.leavingChanged), asLeaving()),
		source.TypedKind(p.manager.GetCache(), &lifecyclev1alpha1.LifecycleTransition{}, nodesOf(b.transitionChanged)),
		source.TypedKind(p.manager.GetCache(), &corev1.Node{}, nodesOf(b.nodeChanged)),
		source.TypedKind(p.manager.GetCache(), &corev1.Node{}, nodesOf(b.peerChanged), asPeer()),
		source.TypedKind(p.manager.GetCache(), &corev1.Pod{}, nodesOf(b.podChanged)),
	} {
		if err := c.Watch(s); err != nil {
			return fmt.Errorf("build the overseer: %w", err)
		}
	}
	return nil
}

func nodesOf[T client.Object](f func(context.Context, T) []string) handler.TypedEventHandler[T, string] {
	return handler.TypedEnqueueRequestsFromMapFunc(f)
}

// asPeer leaves out changes of a Node that guards do not see.
func asPeer() predicate.TypedPredicate[*corev1.Node] {
	return predicate.TypedFuncs[*corev1.Node]{
		UpdateFunc: func(e event.TypedUpdateEvent[*corev1.Node]) bool { return peerOf(e.ObjectOld) != peerOf(e.ObjectNew) },
	}
}

// asLeaving leaves out changes of an event after which its node leaves as it did before.
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

// bell knows which nodes have to be looked at when something has changed: those with
// events alone.
type bell struct{ cached client.Reader }

func (bell) eventChanged(_ context.Context, e *lifecyclev1alpha1.LifecycleEvent) []string {
	return []string{e.Spec.BindingNode}
}

func (b bell) leavingChanged(ctx context.Context, _ *lifecyclev1alpha1.LifecycleEvent) []string {
	return b.waiting(ctx)
}

// transitionChanged: whether a transition returns nodes is the guards' business.
func (b bell) transitionChanged(ctx context.Context, _ *lifecyclev1alpha1.LifecycleTransition) []string {
	return b.waiting(ctx)
}

func (b bell) nodeChanged(ctx context.Context, n *corev1.Node) []string {
	return b.withEvents(ctx, n.Name)
}

// drainChanged is the node, if it has events, or says that one that may be gone drains it.
func (b bell) drainChanged(ctx context.Context, n *corev1.Node) []string {
	if transition.DrainShown(n) {
		return []string{n.Name}
	}
	return b.nodeChanged(ctx, n)
}

func (b bell) peerChanged(ctx context.Context, _ *corev1.Node) []string { return b.waiting(ctx) }

func (b bell) podChanged(ctx context.Context, p *corev1.Pod) []string {
	return b.withEvents(ctx, p.Spec.NodeName)
}

// waiting are the nodes with events that wait for the guards.
func (b bell) waiting(ctx context.Context) []string {
	return b.nodes(ctx, client.MatchingFields{guarded: "true"})
}

// withEvents is the node, if it has events.
func (b bell) withEvents(ctx context.Context, node string) []string {
	if len(b.nodes(ctx, client.MatchingFields{lifecycleevent.BindingNodeField: node})) == 0 {
		return nil
	}
	return []string{node}
}

func (b bell) nodes(ctx context.Context, which client.MatchingFields) []string {
	var events lifecyclev1alpha1.LifecycleEventList
	if err := b.cached.List(ctx, &events, which, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "The cache of events cannot be read")
		return nil
	}
	nodes := make([]string, 0, len(events.Items)+1)
	for i := range events.Items {
		nodes = append(nodes, events.Items[i].Spec.BindingNode)
	}
	return nodes
}
