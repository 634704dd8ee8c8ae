// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// stuckAfter is how long a pass may take. It is some requests, which end by themselves
// within a minute each; what takes long goes on in drivers.
const stuckAfter = 5 * time.Minute

// passes knows the passes of loops that are going on.
type passes struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	begun map[*pass]time.Time
}

// pass is one of a loop, which is called as people would.
type pass struct{ of string }

// newPasses returns one that knows of none.
func newPasses(clock clock.PassiveClock) *passes {
	return &passes{clock: clock, begun: map[*pass]time.Time{}}
}

// of is the reconciler, of which each pass is known while it goes on.
func (p *passes) of(reconciler reconcile.TypedReconciler[string]) reconcile.TypedReconciler[string] {
	return reconcile.TypedFunc[string](func(ctx context.Context, node string) (reconcile.Result, error) {
		defer p.begin("node " + node)()
		return reconciler.Reconcile(ctx, node)
	})
}

// begin notes that a pass begins, and returns what notes its end.
func (p *passes) begin(of string) (ended func()) {
	this := &pass{of}
	p.note(this, p.clock.Now())
	return func() { p.note(this, time.Time{}) }
}

// note keeps since when a pass goes on. Zero: it has ended.
func (p *passes) note(this *pass, since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if since.IsZero() {
		delete(p.begun, this)
		return
	}
	p.begun[this] = since
}

// longest is of what the pass is that goes on for longest, and since when; zero: there is none.
func (p *passes) longest() (of string, since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for this, begun := range p.begun {
		if since.IsZero() || begun.Before(since) {
			of, since = this.of, begun
		}
	}
	return of, since
}

// stuck says whether a pass hangs in a way that a restart would cure. One that waits for
// an API server that is away does not, and has time to end when it is back.
func stuck(of string, since, serverSince time.Time, away string, now time.Time) error {
	if since.IsZero() || away != "" {
		return nil
	}
	if serverSince.After(since) {
		since = serverSince
	}
	if hangs := now.Sub(since); hangs > stuckAfter {
		return fmt.Errorf("the loop of %s hangs: a pass has been going on for %s, although the API server answers",
			of, hangs.Round(time.Second))
	}
	return nil
}
