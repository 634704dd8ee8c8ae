// SPDX-License-Identifier: Apache-2.0

package central

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/oversight"
	"github.com/slipway-k8s/slipway/internal/node/availability"
	"github.com/slipway-k8s/slipway/internal/node/hold"
	"github.com/slipway-k8s/slipway/internal/node/loop"
)

// fleet returns the budgets and all nodes. It reads Nodes from the cache: that other parties take a node out of service is
// counted, and not prevented. All of Slipway's own work is in holds and events, which may come from the API server.
func (o Options) fleet(ctx context.Context, nodesFrom, holdsFrom client.Reader) (oversight.Fleet, error) {
	var budgets slipwayv1alpha1.NodeAvailabilityBudgetList
	if err := nodesFrom.List(ctx, &budgets); err != nil || len(budgets.Items) == 0 {
		return oversight.Fleet{}, err
	}
	var nodes corev1.NodeList
	if err := nodesFrom.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
		return oversight.Fleet{}, fmt.Errorf("list the nodes: %w", err)
	}
	var all slipwayv1alpha1.NodeHoldList
	if err := holdsFrom.List(ctx, &all); err != nil {
		return oversight.Fleet{}, fmt.Errorf("list the holds: %w", err)
	}
	holds := map[string][]*hold.Hold{}
	for i := range all.Items {
		h := &all.Items[i]
		holds[h.Spec.NodeName] = append(holds[h.Spec.NodeName], h)
	}
	f := oversight.Fleet{}
	for i := range budgets.Items {
		f.Budgets = append(f.Budgets, &budgets.Items[i])
	}
	for i := range nodes.Items {
		f.Nodes = append(f.Nodes, availability.NodeOf(&nodes.Items[i], holds[nodes.Items[i].Name]))
	}
	return f, nil
}

// Budgets writes the status of NodeAvailabilityBudgets.
type Budgets struct{ Options }

// allBudgets is the one key of Budgets.
const allBudgets = "nodeavailabilitybudgets"

// BudgetSources wake Budgets.
func BudgetSources(from cache.Cache) []source.TypedSource[string] {
	return []source.TypedSource[string]{
		source.TypedKind(from, &slipwayv1alpha1.NodeAvailabilityBudget{}, toAll[*slipwayv1alpha1.NodeAvailabilityBudget]()),
		source.TypedKind(from, &slipwayv1alpha1.NodeHold{}, toAll[*slipwayv1alpha1.NodeHold]()),
		source.TypedKind(from, &lifecyclev1alpha1.LifecycleEvent{}, toAll[*lifecyclev1alpha1.LifecycleEvent](), asLeaving()),
		source.TypedKind(from, &lifecyclev1alpha1.LifecycleTransition{}, toAll[*lifecyclev1alpha1.LifecycleTransition]()),
		source.TypedKind(from, &corev1.Node{}, toAll[*corev1.Node](), asCounted()),
	}
}

func toAll[T client.Object]() handler.TypedEventHandler[T, string] {
	return loop.NodesOf(func(context.Context, T) []string { return []string{allBudgets} })
}

// asCounted drops changes of a Node that budgets do not see.
func asCounted() predicate.TypedPredicate[*corev1.Node] {
	return predicate.TypedFuncs[*corev1.Node]{
		UpdateFunc: func(e event.TypedUpdateEvent[*corev1.Node]) bool { return !availability.Same(e.ObjectOld, e.ObjectNew) },
	}
}

// Reconcile writes each status that differs from the counts.
func (b *Budgets) Reconcile(ctx context.Context, _ string) (reconcile.Result, error) {
	f, err := b.fleet(ctx, b.Cached, b.Cached)
	if err != nil || len(f.Budgets) == 0 {
		return reconcile.Result{}, err
	}
	facts := oversight.Facts{}
	if facts.PeerEvents, err = b.peerEvents(ctx, b.Cached, "", client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, err
	}
	if facts.Transitions, err = loop.Transitions(ctx, b.Cached); err != nil {
		return reconcile.Result{}, err
	}
	nodes := oversight.WithEvents(f.Nodes, oversight.TakingOut(facts, nil))
	for _, budget := range f.Budgets {
		status := availability.Status(budget, nodes)
		if reflect.DeepEqual(status, budget.Status) {
			continue
		}
		if err := b.Recorder.WriteBudgetStatus(ctx, budget, status); err != nil {
			return loop.AfterStep(ctx, allBudgets, err)
		}
	}
	return reconcile.Result{}, nil
}
