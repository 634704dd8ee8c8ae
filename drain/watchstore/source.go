// SPDX-License-Identifier: Apache-2.0

package watchstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Source lists and watches the objects of a kind.
type Source struct {
	// Name of the watch in logs.
	Name string
	// Object is an example of the objects.
	Object runtime.Object
	List   cache.ListWithContextFunc
	Watch  cache.WatchFuncWithContext
	// Fields and Labels select objects. Empty: all.
	Fields, Labels string
	// Heard, if set, is called in the place of Store.Heard after each attempt to read.
	Heard func(context.Context, error)
	// NoStreaming disables watches that begin with a list, which a fake clientset does not support.
	NoStreaming bool
}

// From returns a Source from two methods of a typed client.
func From[L runtime.Object](
	name string, object runtime.Object, list func(context.Context, metav1.ListOptions) (L, error), begin cache.WatchFuncWithContext,
) Source {
	return Source{Name: name, Object: object, Watch: begin, List: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return list(ctx, options)
	}}
}

// Run fills the Store from the source until ctx ends. It tries again after each error, which Err returns until then.
func (s *Store[T]) Run(ctx context.Context, from Source) {
	if from.Heard == nil {
		from.Heard = s.Heard
	}
	Fill(ctx, s, from)
}

// RunOptional is Run for a kind that the server may not serve. absent receives the error of each attempt to read. If it returns
// true, RunOptional waits before it tries again.
func (s *Store[T]) RunOptional(ctx context.Context, from Source, c clock.Clock, pause time.Duration, absent func(error) bool) {
	for ctx.Err() == nil {
		attempt, stop := context.WithCancel(ctx)
		from.Heard = func(ctx context.Context, err error) {
			if ctx.Err() == nil && absent(err) {
				stop()
				return
			}
			s.Heard(ctx, err)
		}
		s.Run(attempt, from)
		stop()
		timer := c.NewTimer(pause)
		select {
		case <-timer.C():
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// Start runs Run in a goroutine. stop ends it, and waits for its end.
func (s *Store[T]) Start(ctx context.Context, from Source) (stop func()) {
	return Start(ctx, func(ctx context.Context) { s.Run(ctx, from) })
}

// Start runs a function in a goroutine. stop ends its context, and waits for its end.
func Start(ctx context.Context, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// Fill is Run for another kind of store.
func Fill(ctx context.Context, store cache.ReflectorStore, from Source) {
	late := false // the watch cache of the API server
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector, options.LabelSelector = from.Fields, from.Labels
			if late {
				options.ResourceVersion, late = "", false // the server reads from etcd if its cache is late
			}
			list, err := from.List(ctx, options)
			from.heard(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector, options.LabelSelector = from.Fields, from.Labels
			w, err := from.Watch(ctx, options)
			from.heard(ctx, err)
			if streams := options.SendInitialEvents != nil; streams && apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
				// The Reflector would repeat the watch for as long as the watch cache is late. After an unknown error, it lists:
				// hence the error is not wrapped.
				late, err = true, fmt.Errorf("%w: %s", errLate, err.Error())
			}
			return w, err
		},
	}
	logger := klog.FromContext(ctx)
	cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(lw, from), from.Object, store, cache.ReflectorOptions{
		Logger: &logger,
		Name:   from.Name,
		Clock:  cancelableClock{done: ctx.Done()},
		// The default grows to a minute: after an outage, that costs more than these few requests.
		Backoff: &wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 5 * time.Second},
	}).RunWithContext(ctx)
}

// errLate means that the watch cache of the API server is so late that a watch cannot begin with a list.
var errLate = errors.New("the watch cache of the server is late")

func (from Source) heard(ctx context.Context, err error) {
	if from.Heard != nil {
		from.Heard(ctx, err)
	}
}

// IsWatchListSemanticsUnSupported tells the Reflector not to begin a watch with a list.
func (from Source) IsWatchListSemanticsUnSupported() bool { return from.NoStreaming }

// cancelableClock fires its timers when the watch ends: while the server is away, the Reflector waits for its clock and ignores
// its context.
type cancelableClock struct {
	clock.RealClock
	done <-chan struct{}
}

// After implements clock.Clock.
func (c cancelableClock) After(d time.Duration) <-chan time.Time {
	fired := make(chan time.Time, 1)
	timer := c.NewTimer(d)
	go func() {
		defer timer.Stop()
		select {
		case now := <-timer.C():
			fired <- now
		case <-c.done:
			fired <- c.Now()
		}
	}()
	return fired
}

// Signal wakes a loop. It carries no data: the loop reads the current state.
type Signal chan struct{}

// NewSignal returns a Signal.
func NewSignal() Signal { return make(Signal, 1) }

// Poke never blocks. Several pokes before the loop wakes count as one.
func (s Signal) Poke() {
	select {
	case s <- struct{}{}:
	default:
	}
}
