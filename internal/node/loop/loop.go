// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
)

// AfterStepDelay is the time from a step to the next pass. The watches show the write and wake the controller earlier,
// unless they are late.
const AfterStepDelay = time.Second

// Wait returns the result of a pass without a step: look again at that time, or never if it
// is zero.
func Wait(at, now time.Time) reconcile.Result {
	if at.IsZero() {
		return reconcile.Result{}
	}
	return reconcile.Result{RequeueAfter: max(at.Sub(now), time.Millisecond)}
}

// AfterStep returns the result of a pass that has performed a step, or failed to. A step that another writer has
// overtaken is no error: the next pass decides again.
func AfterStep(ctx context.Context, node string, err error) (reconcile.Result, error) {
	if errors.Is(err, record.ErrStale) || errors.Is(err, nodestate.ErrStale) {
		log.FromContext(ctx).V(2).Info("Deciding again", "reason", err.Error())
	} else if err != nil {
		return reconcile.Result{}, fmt.Errorf("node %s: %w", node, err)
	}
	return reconcile.Result{RequeueAfter: AfterStepDelay}, nil
}

// NodesOf wakes the nodes that f names for a changed object.
func NodesOf[T client.Object](f func(context.Context, T) []string) handler.TypedEventHandler[T, string] {
	return handler.TypedEnqueueRequestsFromMapFunc(f)
}

// BindingNode names the node of an event.
func BindingNode(_ context.Context, e *lifecyclev1alpha1.LifecycleEvent) []string {
	return []string{e.Spec.BindingNode}
}

// IndexEvents adds the index of events by their node, which reads of cached events need.
func IndexEvents(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &lifecyclev1alpha1.LifecycleEvent{}, lifecycleevent.BindingNodeField, func(o client.Object) []string {
		return []string{o.(*lifecyclev1alpha1.LifecycleEvent).Spec.BindingNode}
	})
}

// HasEvents returns whether the node has events, as the cache has them. It copies none.
func HasEvents(ctx context.Context, cached client.Reader, node string) (bool, error) {
	var events lifecyclev1alpha1.LifecycleEventList
	err := cached.List(ctx, &events, client.MatchingFields{lifecycleevent.BindingNodeField: node}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return false, fmt.Errorf("list the events of node %s: %w", node, err)
	}
	return len(events.Items) > 0, nil
}

// WithEvents names the node, if it has events.
func WithEvents(ctx context.Context, cached client.Reader, node string) []string {
	switch has, err := HasEvents(ctx, cached, node); {
	case err != nil:
		log.FromContext(ctx).Error(err, "Cannot read the cache of events")
		return nil
	case !has:
		return nil
	default:
		return []string{node}
	}
}

// NodesOfEvents names the nodes of the events that match, as the cache has them.
func NodesOfEvents(ctx context.Context, cached client.Reader, which ...client.ListOption) []string {
	var events lifecyclev1alpha1.LifecycleEventList
	if err := cached.List(ctx, &events, append(which, client.UnsafeDisableDeepCopy)...); err != nil {
		log.FromContext(ctx).Error(err, "Cannot read the cache of events")
		return nil
	}
	nodes := make([]string, 0, len(events.Items))
	for i := range events.Items {
		nodes = append(nodes, events.Items[i].Spec.BindingNode)
	}
	return nodes
}

// Events lists the events of a node.
func Events(ctx context.Context, from client.Reader, node string) ([]*lifecyclev1alpha1.LifecycleEvent, error) {
	var list lifecyclev1alpha1.LifecycleEventList
	if err := from.List(ctx, &list, client.MatchingFields{lifecycleevent.BindingNodeField: node}); err != nil {
		return nil, fmt.Errorf("list the events of node %s: %w", node, err)
	}
	events := make([]*lifecyclev1alpha1.LifecycleEvent, len(list.Items))
	for i := range list.Items {
		events[i] = &list.Items[i]
	}
	return events, nil
}

// TransitionNodeField selects the transitions of one node, and with an empty value those of several nodes. The token of a node is
// enough to create any number of the former, so no process keeps those of another node in memory.
const TransitionNodeField = "spec.nodeName"

// TransitionsOf lists only the transitions of that node from the API server; none: of several nodes.
func TransitionsOf(server client.Reader, node string) client.Reader {
	return transitionsOf{server, client.MatchingFields{TransitionNodeField: node}}
}

type transitionsOf struct {
	client.Reader
	selected client.MatchingFields
}

func (r transitionsOf) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return r.Reader.List(ctx, list, append(options, r.selected)...)
}

// Transitions lists the transitions that the readers have, by name.
func Transitions(ctx context.Context, from ...client.Reader) (map[string]*lifecyclev1alpha1.LifecycleTransition, error) {
	transitions := map[string]*lifecyclev1alpha1.LifecycleTransition{}
	for _, reader := range from {
		var list lifecyclev1alpha1.LifecycleTransitionList
		if err := reader.List(ctx, &list); err != nil {
			return nil, fmt.Errorf("list the transitions: %w", err)
		}
		for i := range list.Items {
			transitions[list.Items[i].Name] = &list.Items[i]
		}
	}
	return transitions, nil
}

// Waker wakes nodes from outside of the watches: a call has ended, a driver has registered.
type Waker struct {
	queue atomic.Pointer[workqueue.TypedRateLimitingInterface[string]]
}

// Source gives the Waker its queue. It wakes the given nodes at the start.
func (w *Waker) Source(atStart ...string) source.TypedSource[string] {
	return source.TypedFunc[string](func(_ context.Context, queue workqueue.TypedRateLimitingInterface[string]) error {
		w.queue.Store(&queue)
		for _, node := range atStart {
			queue.Add(node)
		}
		return nil
	})
}

// Wake queues the node. Before the controller runs, it does nothing.
func (w *Waker) Wake(node string) {
	if queue := w.queue.Load(); queue != nil {
		(*queue).Add(node)
	}
}

// Add makes the manager run r for the nodes that the sources wake, with the given number of workers. After an error,
// usually of an API request, it waits between 100 ms and 5 s.
func Add(m manager.Manager, name string, r reconcile.TypedReconciler[string], workers int, sources ...source.TypedSource[string]) error {
	c, err := controller.NewTyped(name, m, controller.TypedOptions[string]{
		Reconciler:              r,
		MaxConcurrentReconciles: workers,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, 5*time.Second),
		// The benchmark runs many agents in one process.
		SkipNameValidation: new(true),
	})
	if err != nil {
		return fmt.Errorf("build controller %s: %w", name, err)
	}
	for _, s := range sources {
		if err := c.Watch(s); err != nil {
			return fmt.Errorf("build controller %s: %w", name, err)
		}
	}
	return nil
}
