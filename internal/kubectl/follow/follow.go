// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
)

// Cluster is the watched cluster.
type Cluster struct {
	Config *rest.Config
	HTTP   *http.Client
	Home   apigroup.Home
}

// View shows the objects that a command follows. [Cluster.ToEnd] calls all methods from one
// goroutine, so a view needs no lock and may send requests.
type View interface {
	// Saw takes the current state of an object, Gone the last state of a deleted object.
	Saw(object client.Object, at time.Time)
	Gone(object client.Object, at time.Time)
	// Lost takes the server's connection error, Found its end.
	Lost(why string, at time.Time)
	Found(at time.Time)
	// Show updates the output. It returns true, or an error, at the end.
	Show(ctx context.Context, now time.Time) (over bool, err error)
}

// ToEnd watches the objects of the scope until the view's Show returns true or an error, or until
// ctx ends, and returns that error. It calls begin once, when the view has all existing objects:
// for example to create an object, and to learn the kinds that the caller may watch. Begin may be
// nil. After that it calls Show after each change, at most every 100 ms and at least every second.
func (c Cluster) ToEnd(ctx context.Context, clock clock.WithTicker, scope Scope, view View, begin func(ctx context.Context, seen Scope) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	box := &inbox{clock: clock, changed: make(chan struct{}, 1)}
	seen, err := c.watch(ctx, scope, box)
	if err != nil {
		return err
	}
	box.deliver(view)
	if begin != nil {
		if err := begin(ctx, seen); err != nil {
			return err
		}
	}
	for {
		box.deliver(view)
		if over, err := view.Show(ctx, clock.Now()); over || err != nil {
			return err
		}
		if err := Pause(ctx, clock, box.changed); err != nil {
			return err
		}
	}
}

// inbox keeps the news of the watches in order, until the view takes them.
type inbox struct {
	clock   clock.Clock
	changed chan struct{}

	mu      sync.Mutex
	notices []func(View) // guarded by mu
}

func (b *inbox) saw(object client.Object) {
	b.add(func(v View, at time.Time) { v.Saw(object, at) })
}

func (b *inbox) gone(object client.Object) {
	b.add(func(v View, at time.Time) { v.Gone(object, at) })
}

func (b *inbox) lost(why error) {
	b.add(func(v View, at time.Time) { v.Lost(why.Error(), at) })
}

func (b *inbox) found() { b.add(View.Found) }

func (b *inbox) add(notice func(View, time.Time)) {
	at := b.clock.Now()
	b.mu.Lock()
	b.notices = append(b.notices, func(v View) { notice(v, at) })
	b.mu.Unlock()
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

func (b *inbox) deliver(view View) {
	b.mu.Lock()
	notices := b.notices
	b.notices = nil
	b.mu.Unlock()
	for _, notice := range notices {
		notice(view)
	}
}

// A view is shown again when something changes, but not more often than a person can see,
// and each second, for the times on it.
const (
	atLeastEvery = time.Second
	atMostEvery  = 100 * time.Millisecond
)

// Pause waits for atMostEvery, then until something changes or atLeastEvery is over. An
// error is that ctx has ended.
func Pause(ctx context.Context, clock clock.Clock, changed <-chan struct{}) error {
	if err := wait(ctx, clock, atMostEvery, nil); err != nil {
		return err
	}
	return wait(ctx, clock, atLeastEvery-atMostEvery, changed)
}

func wait(ctx context.Context, clock clock.Clock, length time.Duration, wake <-chan struct{}) error {
	timer := clock.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C():
	case <-wake:
	}
	return nil
}
