// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// fill fills a shelf with what a watch shows, until ctx ends. Whatever goes wrong is
// tried again.
func fill(ctx context.Context, logger klog.Logger, lw *cache.ListWatch, example runtime.Object, store cache.ReflectorStore) {
	cache.NewReflectorWithOptions(lw, example, store, cache.ReflectorOptions{
		Logger: &logger,
		Name:   "drainrules",
		Clock:  mortalClock{end: ctx.Done()},
		// As in drain: the default goes up to half a minute, in which a drain could be done.
		Backoff: &wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 5 * time.Second},
	}).RunWithContext(ctx)
}

// listing and watching note how each attempt to read went.
func listing[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error), change func(*metav1.ListOptions), heard func(context.Context, error)) cache.ListWithContextFunc {
	return func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		change(&options)
		got, err := list(ctx, options)
		heard(ctx, err)
		return got, err
	}
}

func watching(begin func(context.Context, metav1.ListOptions) (watch.Interface, error), change func(*metav1.ListOptions), heard func(context.Context, error)) cache.WatchFuncWithContext {
	return func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		change(&options)
		w, err := begin(ctx, options)
		heard(ctx, err)
		return w, err
	}
}

// mortalClock ends all waiting when the watch ends: the Reflector waits on its clock
// without looking at its context while the server cannot be reached. drain has the same;
// it imports no other room, and exports no such thing.
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

// signal wakes a loop. It carries nothing: whoever wakes looks at what there is.
type signal chan struct{}

func newSignal() signal { return make(signal, 1) }

// poke never blocks. Pokes that nobody has heeded yet become one.
func (s signal) poke() {
	select {
	case s <- struct{}{}:
	default:
	}
}
