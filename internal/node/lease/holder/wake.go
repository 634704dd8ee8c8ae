// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/node/loop"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
)

// Sources wake a Holder: by the events of a node, by its lease, whoever holds it, and by the
// Node, where it has either, or says something of it.
func Sources(from cache.Cache) []source.TypedSource[string] {
	b := bell{from}
	return []source.TypedSource[string]{
		source.TypedKind(from, &lifecyclev1alpha1.LifecycleEvent{}, loop.NodesOf(loop.BindingNode)),
		source.TypedKind(from, &lifecyclev1alpha1.LifecycleTransition{}, loop.NodesOf(b.transitionChanged)),
		source.TypedKind(from, &coordinationv1.Lease{}, loop.NodesOf(b.leaseChanged)),
		source.TypedKind(from, &corev1.Node{}, loop.NodesOf(b.nodeChanged), asHeld()),
	}
}

// asHeld leaves out changes of a Node that mean nothing to its lease: heartbeats.
func asHeld() predicate.TypedPredicate[*corev1.Node] {
	type held struct {
		uid            string
		unschedulable  bool
		cordons, lease string
	}
	of := func(n *corev1.Node) held {
		return held{string(n.UID), n.Spec.Unschedulable, n.Annotations[nodestate.CordonsAnnotation], n.Annotations[nodestate.LeaseAnnotation]}
	}
	return predicate.TypedFuncs[*corev1.Node]{
		UpdateFunc: func(e event.TypedUpdateEvent[*corev1.Node]) bool { return of(e.ObjectOld) != of(e.ObjectNew) },
	}
}

// bell knows which nodes have to be looked at when something has changed.
type bell struct{ cached client.Reader }

// transitionChanged: whether a transition returns nodes says which events need leases.
func (b bell) transitionChanged(ctx context.Context, t *lifecyclev1alpha1.LifecycleTransition) []string {
	var events lifecyclev1alpha1.LifecycleEventList
	if err := b.cached.List(ctx, &events, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "The cache of events cannot be read")
		return nil
	}
	return nodesWith(events.Items, t.Name)
}

// nodesWith are the nodes of the events of a transition.
func nodesWith(events []lifecyclev1alpha1.LifecycleEvent, transition string) (nodes []string) {
	for i := range events {
		if e := &events[i]; e.Spec.TransitionName == transition {
			nodes = append(nodes, e.Spec.BindingNode)
		}
	}
	return nodes
}

func (bell) leaseChanged(_ context.Context, l *coordinationv1.Lease) []string {
	return []string{l.Name}
}

// speaksOfSlipway: it is cordoned for Slipway, or says who holds its lease.
func speaksOfSlipway(n *corev1.Node) bool {
	return n.Annotations[nodestate.CordonsAnnotation] != "" || n.Annotations[nodestate.LeaseAnnotation] != ""
}

// nodeChanged is the node, if it is cordoned for Slipway, says who holds its lease, or has
// events. One with a lease and nothing else is woken by that.
func (b bell) nodeChanged(ctx context.Context, n *corev1.Node) []string {
	if speaksOfSlipway(n) {
		return []string{n.Name}
	}
	return loop.WithEvents(ctx, b.cached, n.Name)
}
