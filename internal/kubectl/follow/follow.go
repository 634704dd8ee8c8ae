// SPDX-License-Identifier: Apache-2.0

// Package follow watches objects and shows them until they reach an end.
//
//	API server ── one watch a kind ──▶ inbox ──▶ View ──▶ terminal, lines or JSON
//
// Every command that follows something does it by [Cluster.ToEnd], with a [View] of its own:
// [Events] for LifecycleEvents and their nodes; others embed a [Store] and write Show.
// The package only watches: what happens goes on without it.
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

// Cluster is where something is watched.
type Cluster struct {
	Config *rest.Config
	HTTP   *http.Client
	Home   apigroup.Home
}

// View is what one command shows of the objects that it follows. [Cluster.ToEnd] calls all
// methods from one goroutine, so that a view needs no lock and may ask the server for more.
type View interface {
	// Saw takes in how an object is now, Gone how it was when it was deleted.
	Saw(object client.Object, at time.Time)
	Gone(object client.Object, at time.Time)
	// Lost takes in why the server does not answer, Found that it answers again.
	Lost(why string, at time.Time)
	Found(at time.Time)
	// Show brings the output up to date. It returns true, or an error, when there is nothing
	// more to follow.
	Show(ctx context.Context, now time.Time) (over bool, err error)
}

// ToEnd watches what the scope selects, and returns when the view's Show says that it is
// over, with the error of Show, or with that of ctx when that ends. It calls begin once, when
// the view has taken in all objects that exist: to create what is followed, for example, and
// to learn which kinds the caller may watch. Begin may be nil. After that it calls Show when
// something changes, at most every 100 ms and at least every second.
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

// inbox keeps what the watches see, in order, until the view takes it in.
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
