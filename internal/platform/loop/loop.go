// SPDX-License-Identifier: Apache-2.0

// Package loop runs a reconciler: controller-runtime's controller, without a manager, on a queue that
// exists before the controller starts, so that informers which are started on demand can fill it.
//
//	informers, AddAt ──▶ queue ──▶ workers ──▶ reconciler ── error: again, with a backoff ──▶ queue
//
// A panic of the reconciler is an error of its key. [Watch] starts such informers.
package loop

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// The backoff after errors of API requests.
const (
	errorBackoffBase = 50 * time.Millisecond
	errorBackoffCap  = 30 * time.Second
)

// Loop is a queue of keys and the workers that reconcile them.
type Loop[Key comparable] struct {
	queue   workqueue.TypedRateLimitingInterface[Key]
	workers controller.TypedController[Key]
	clock   clock.PassiveClock
}

// New returns a loop of that name with its queue. Each of its log lines names the key, as keyName.
func New[Key comparable](ctx context.Context, name, keyName string, workers int, c clock.WithTicker, r reconcile.TypedReconciler[Key]) (*Loop[Key], error) {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[Key](errorBackoffBase, errorBackoffCap)
	l := &Loop[Key]{clock: c, queue: workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[Key]{Name: name, Clock: c})}
	logger := log.FromContext(ctx).WithValues("controller", name)
	var err error
	l.workers, err = controller.NewTypedUnmanaged(name, controller.TypedOptions[Key]{
		Reconciler: r, MaxConcurrentReconciles: workers, RateLimiter: limiter,
		NewQueue: func(string, workqueue.TypedRateLimiter[Key]) workqueue.TypedRateLimitingInterface[Key] {
			return l.queue
		},
		LogConstructor: func(key *Key) logr.Logger {
			if key == nil {
				return logger
			}
			return logger.WithValues(keyName, *key)
		},
		SkipNameValidation: new(true), // tests run several in a process
	})
	if err != nil {
		l.queue.ShutDown()
		return nil, fmt.Errorf("build the loop of %s: %w", name, err)
	}
	return l, nil
}

// Add has a key reconciled.
func (l *Loop[Key]) Add(key Key) { l.queue.Add(key) }

// AddAt has a key reconciled at a time; zero is never.
func (l *Loop[Key]) AddAt(key Key, at time.Time) {
	if !at.IsZero() {
		l.queue.AddAfter(key, at.Sub(l.clock.Now()))
	}
}

// Run reconciles until ctx ends, and waits for the workers.
func (l *Loop[Key]) Run(ctx context.Context) error { return l.workers.Start(ctx) }

// Close ends a loop, whether it ran or not.
func (l *Loop[Key]) Close() { l.queue.ShutDown() }
