// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// The backoff after errors, which are those of API requests.
const (
	errorBackoffBase = 100 * time.Millisecond
	errorBackoffCap  = 5 * time.Second
)

// loop is the queue that the agent's passes come from: it holds the node's name, or
// nothing.
type loop struct {
	nodeName string
	queue    atomic.Pointer[workqueue.TypedRateLimitingInterface[string]]
}

// wake asks for a pass. Before the loop runs, it does nothing: the first pass comes
// by itself.
func (l *loop) wake() {
	if queue := l.queue.Load(); queue != nil {
		(*queue).Add(l.nodeName)
	}
}

// start takes the queue, and asks for the first pass.
func (l *loop) start(_ context.Context, queue workqueue.TypedRateLimitingInterface[string]) error {
	l.queue.Store(&queue)
	l.wake()
	return nil
}

// add makes the manager run the agent, woken by all that it reads.
func (l *loop) add(m manager.Manager, node cluster.Cluster, agent reconcile.TypedReconciler[string]) error {
	c, err := controller.NewTyped("agent", m, controller.TypedOptions[string]{
		Reconciler:  agent,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[string](errorBackoffBase, errorBackoffCap),
		// A process that measures what agents cost has many of them.
		SkipNameValidation: new(true),
	})
	if err != nil {
		return fmt.Errorf("build the loop: %w", err)
	}
	for _, s := range []source.TypedSource[string]{
		source.TypedKind(m.GetCache(), &lifecyclev1alpha1.LifecycleEvent{}, wakeOn[*lifecyclev1alpha1.LifecycleEvent](l)),
		source.TypedKind(m.GetCache(), &lifecyclev1alpha1.LifecycleTransition{}, wakeOn[*lifecyclev1alpha1.LifecycleTransition](l)),
		source.TypedKind(node.GetCache(), &corev1.Node{}, wakeOn[*corev1.Node](l)),
		source.TypedFunc[string](l.start),
	} {
		if err := c.Watch(s); err != nil {
			return fmt.Errorf("build the loop: %w", err)
		}
	}
	return nil
}

// wakeOn asks for a pass whenever an object changes, whatever it is.
func wakeOn[T client.Object](l *loop) handler.TypedEventHandler[T, string] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(context.Context, T) []string { return []string{l.nodeName} })
}
