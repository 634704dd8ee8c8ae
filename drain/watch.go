// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// reader is the part of a typed client that a watch needs.
type reader[L runtime.Object] interface {
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

// follow fills the shelf with what the client shows of the objects that match the field selector, until ctx ends.
// Whatever goes wrong is noted on the shelf and tried again.
func follow[L runtime.Object, T any](ctx context.Context, client reader[L], example runtime.Object, selector string, server bool, s *shelf[T]) {
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			opts.FieldSelector = selector
			list, err := client.List(ctx, opts)
			s.heard(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			opts.FieldSelector = selector
			w, err := client.Watch(ctx, opts)
			s.heard(ctx, err)
			return w, err
		},
	}
	logger := klog.FromContext(ctx)
	cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(lw, streaming(server)), example, s, cache.ReflectorOptions{
		Logger: &logger,
		Name:   "drain",
		Clock:  mortalClock{end: ctx.Done()},
		// The default goes up to a minute. A drain that waits so long after an outage has lost more than the few requests
		// that this costs; it watches for its own duration only.
		Backoff: &wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 5 * time.Second},
	}).RunWithContext(ctx)
}

// streaming tells the Reflector whether the client can begin a watch with a list; a fake clientset cannot.
type streaming bool

// IsWatchListSemanticsUnSupported is what the Reflector asks for.
func (s streaming) IsWatchListSemanticsUnSupported() bool { return !bool(s) }

func onNode(name string) string {
	return fields.OneTermEqualSelector("spec.nodeName", name).String()
}

func named(name string) string {
	return fields.OneTermEqualSelector("metadata.name", name).String()
}

// mortalClock ends all waiting when the watch ends: the Reflector waits on its clock without looking at its context while
// the server cannot be reached.
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
