// SPDX-License-Identifier: Apache-2.0

package responders

import (
	"context"
	"sync"
	"time"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/slipway-k8s/slipway/internal/eviction/surge"
)

// watching are the two watches. They run from their first to their last user.
type watching struct {
	evictions *evictionShelf
	surges    *namespaceShelf
	stop      context.CancelFunc
	ended     chan struct{}
}

func (r *Reader) start(ctx context.Context) *watching {
	ctx, stop := context.WithCancel(ctx)
	w := &watching{evictions: newEvictionShelf(r.tell), surges: newNamespaceShelf(func(...string) { r.tell() }), stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		for r.probe(ctx) {
			r.watchOnce(ctx, w)
		}
	}()
	return w
}

// probe waits until it is time to ask for Evictions, and is false if ctx ends before.
func (r *Reader) probe(ctx context.Context) bool {
	r.mu.Lock()
	known, again := r.isKnownAbsent(), r.absent.Add(probeEvery)
	r.mu.Unlock()
	if !known {
		return ctx.Err() == nil
	}
	timer := r.clock.NewTimer(again.Sub(r.clock.Now()))
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}

// watchOnce watches until ctx ends, or the server says that there are no Evictions. Namespaces are watched only where
// there are.
func (r *Reader) watchOnce(ctx context.Context, w *watching) {
	logger := klog.FromContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	defer running.Wait()
	var begin sync.Once
	heard := func(attempt context.Context, err error) {
		switch {
		case attempt.Err() != nil:
		case isAbsent(err) && w.evictions.isEmpty() && r.notThere():
			logger.Info("No Evictions are read: drains leave no pods to responders", "reason", err.Error(), "nextAttempt", probeEvery.String())
			stop()
		default:
			if err == nil {
				r.present()
				begin.Do(func() { running.Go(func() { r.watchNamespaces(ctx, w) }) })
			}
			w.evictions.heard(err)
		}
		r.tell()
	}
	fill(ctx, logger, follow(r.evictions.List, r.evictions.Watch, "", heard), &evictionv1alpha1.Eviction{}, w.evictions)
}

// watchNamespaces watches those that opt in to surge, and no others.
func (r *Reader) watchNamespaces(ctx context.Context, w *watching) {
	heard := func(attempt context.Context, err error) {
		if attempt.Err() == nil {
			w.surges.heard(err)
			r.tell()
		}
	}
	fill(ctx, klog.FromContext(ctx), follow(r.namespaces.List, r.namespaces.Watch, surge.Responder+"=true", heard),
		&metav1.PartialObjectMetadata{}, w.surges)
}

// follow tells of each attempt to read how it went.
func follow[L runtime.Object](
	list func(context.Context, metav1.ListOptions) (L, error), begin func(context.Context, metav1.ListOptions) (watch.Interface, error),
	labels string, heard func(context.Context, error),
) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = labels
			got, err := list(ctx, options)
			heard(ctx, err)
			return got, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = labels
			w, err := begin(ctx, options)
			heard(ctx, err)
			return w, err
		},
	}
}

// fill fills a shelf with what a watch shows, until ctx ends. Whatever goes wrong is tried
// again.
func fill(ctx context.Context, logger klog.Logger, lw *cache.ListWatch, example runtime.Object, store cache.ReflectorStore) {
	cache.NewReflectorWithOptions(lw, example, store, cache.ReflectorOptions{
		Logger: &logger,
		Name:   "responders",
		Clock:  mortalClock{end: ctx.Done()},
		// As in drain: the default goes up to half a minute, in which a drain could be done.
		Backoff: &wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 5 * time.Second},
	}).RunWithContext(ctx)
}

// mortalClock ends all waiting when the watch ends: the Reflector waits on its clock
// without looking at its context while the server cannot be reached. drain and drainrules
// have the same, and export no such thing.
type mortalClock struct {
	clock.RealClock
	end <-chan struct{}
}

// After implements clock.Clock.
func (c mortalClock) After(d time.Duration) <-chan time.Time {
	fired := make(chan time.Time, 1)
	timer := c.NewTimer(d)
	go func() {
		defer timer.Stop()
		select {
		case now := <-timer.C():
			fired <- now
		case <-c.end:
			fired <- c.Now()
		}
	}()
	return fired
}
