// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
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

// Watches are running informers of a factory.
type Watches struct {
	factory informers.SharedInformerFactory
	stop    context.CancelFunc
	synced  []cache.InformerSynced
}

// Watch starts the informers of a factory, until Close or the end of ctx. It calls changed with each object that
// appears, changes or goes, and ready when everything is known. ready may be nil.
func Watch(ctx context.Context, factory informers.SharedInformerFactory, changed func(obj any), ready func(), all ...cache.SharedIndexInformer) (*Watches, error) {
	w := &Watches{factory: factory}
	for _, informer := range all {
		registration, err := informer.AddEventHandler(Handler(changed))
		if err != nil {
			return nil, fmt.Errorf("listen to a watch: %w", err)
		}
		w.synced = append(w.synced, registration.HasSynced)
	}
	ctx, w.stop = context.WithCancel(ctx)
	factory.StartWithContext(ctx)
	if ready != nil {
		go func() {
			if w.WaitForSync(ctx) {
				ready()
			}
		}()
	}
	return w, nil
}

// Handler calls changed with each object that appears, changes or goes, also if the watch has missed its end.
func Handler(changed func(obj any)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    changed,
		UpdateFunc: func(_, obj any) { changed(obj) },
		DeleteFunc: func(obj any) {
			if missed, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = missed.Obj
			}
			changed(obj)
		},
	}
}

// Synced reports whether everything is known.
func (w *Watches) Synced() bool {
	return !slices.ContainsFunc(w.synced, func(synced cache.InformerSynced) bool { return !synced() })
}

// WaitForSync waits until everything is known. It returns false if ctx ends before.
func (w *Watches) WaitForSync(ctx context.Context) bool {
	return cache.WaitForCacheSync(ctx.Done(), w.synced...)
}

// Close ends the informers, and waits for them.
func (w *Watches) Close() {
	w.stop()
	w.factory.Shutdown()
}
