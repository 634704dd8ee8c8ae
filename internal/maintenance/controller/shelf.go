// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// shelf is what a watch shows of objects: of each, one thing that is wanted of it.
type shelf[T any] struct {
	read    func(metav1.Object) (of T, wanted bool)
	changed func()

	mu     sync.Mutex
	of     map[types.UID]T
	filled bool
}

func newShelf[T any](read func(metav1.Object) (T, bool), changed func()) *shelf[T] {
	return &shelf[T]{read: read, changed: changed, of: map[types.UID]T{}}
}

// all are those that are wanted. filled is false until all that there is has been shown.
func (s *shelf[T]) all() (all []T, filled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range s.of {
		all = append(all, of)
	}
	return all, s.filled
}

// isFilled says whether all that there is has been shown.
func (s *shelf[T]) isFilled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.filled
}

// put says whether anything is another thing than before.
func (s *shelf[T]) put(obj any) (differs bool) {
	o, ok := obj.(metav1.Object)
	if !ok {
		return false
	}
	was, had := s.of[o.GetUID()]
	of, wanted := s.read(o)
	if wanted {
		s.of[o.GetUID()] = of
	} else {
		delete(s.of, o.GetUID())
	}
	return had != wanted || wanted && !reflect.DeepEqual(was, of)
}

// change tells of what differs: most of what happens to objects does not matter.
func (s *shelf[T]) change(f func() (differs bool)) error {
	s.mu.Lock()
	differs := f()
	s.mu.Unlock()
	if differs {
		s.changed()
	}
	return nil
}

// Add implements cache.ReflectorStore, as the following do.
func (s *shelf[T]) Add(obj any) error { return s.change(func() bool { return s.put(obj) }) }

// Update is as Add.
func (s *shelf[T]) Update(obj any) error { return s.Add(obj) }

// Delete takes it away.
func (s *shelf[T]) Delete(obj any) error {
	return s.change(func() bool {
		o, ok := obj.(metav1.Object)
		if !ok {
			return false
		}
		_, had := s.of[o.GetUID()]
		delete(s.of, o.GetUID())
		return had
	})
}

// Replace is all that there is.
func (s *shelf[T]) Replace(objects []any, _ string) error {
	return s.change(func() bool {
		s.of, s.filled = map[types.UID]T{}, true
		for _, obj := range objects {
			s.put(obj)
		}
		return true
	})
}

// Resync does nothing.
func (*shelf[T]) Resync() error { return nil }

// filling is a watch that fills a shelf, until it is closed.
type filling struct {
	stop  context.CancelFunc
	ended chan struct{}
}

// fill begins to fill a shelf with what the field selector selects. Whatever goes wrong is
// tried again.
func fill[L runtime.Object](
	ctx context.Context, store toolscache.ReflectorStore, example runtime.Object, fields string,
	list func(context.Context, metav1.ListOptions) (L, error), begin func(context.Context, metav1.ListOptions) (watch.Interface, error),
) *filling {
	ctx, stop := context.WithCancel(ctx)
	f := &filling{stop: stop, ended: make(chan struct{})}
	logger := klog.FromContext(ctx)
	reflector := toolscache.NewReflectorWithOptions(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = fields
			return list(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = fields
			return begin(ctx, options)
		},
	}, example, store, toolscache.ReflectorOptions{
		Logger: &logger, Name: "maintainer", Clock: mortalClock{end: ctx.Done()},
		Backoff: &wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 5 * time.Second},
	})
	go func() {
		defer close(f.ended)
		reflector.RunWithContext(ctx)
	}()
	return f
}

// close ends the watch, and waits until it has ended.
func (f *filling) close() {
	f.stop()
	<-f.ended
}

// mortalClock ends all waiting when the watch ends: the Reflector waits on its clock
// without looking at its context while the server cannot be reached.
type mortalClock struct {
	clock.RealClock
	end <-chan struct{}
}

// After implements clock.Clock.
func (c mortalClock) After(d time.Duration) <-chan time.Time {
	passed := make(chan time.Time, 1)
	timer := c.NewTimer(d)
	go func() {
		defer timer.Stop()
		select {
		case now := <-timer.C():
			passed <- now
		case <-c.end:
			passed <- time.Time{}
		}
	}()
	return passed
}
