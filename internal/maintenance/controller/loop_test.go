// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-k8s/slipway/internal/maintenance"
)

// looping runs the loop in a bubble of its own time while f goes on.
func looping(t *testing.T, decide func(maintenance.Facts) maintenance.Decision, f func(*world)) {
	t.Helper()
	w := newWorld(t, decide, interceptor.Funcs{})
	ctx, stop := context.WithCancel(t.Context())
	loop, err := w.newLoop(ctx)
	if err != nil {
		t.Fatal(err)
	}
	w.loop = loop
	var running sync.WaitGroup
	running.Go(func() {
		if err := loop.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	w.wake()
	f(w)
	stop()
	running.Wait()
}

// pass lets the time of the bubble pass.
func pass(d time.Duration) { <-time.NewTimer(d).C }

func TestAtMostFivePassesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var passes atomic.Int32
		count := func(maintenance.Facts) maintenance.Decision {
			passes.Add(1)
			return maintenance.Decision{}
		}
		looping(t, count, func(w *world) {
			for range 1000 {
				w.wake()
				pass(10 * time.Millisecond)
			}
		})
		if n := passes.Load(); n < 45 || n > 51 {
			t.Errorf("in 10 s of changes there were %d passes", n)
		}
	})
}

func TestWithoutAChangeThereIsNoPassUntilOneIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, at := time.Now(), []time.Duration{}
		decide := func(maintenance.Facts) maintenance.Decision {
			at = append(at, time.Since(began))
			if len(at) == 1 {
				return maintenance.Decision{Wake: began.Add(time.Hour)}
			}
			return maintenance.Decision{}
		}
		looping(t, decide, func(*world) { pass(24 * time.Hour) })
		if len(at) != 2 || at[0] != 0 || at[1] != time.Hour {
			t.Errorf("there were passes after %v; want at once, and after an hour", at)
		}
	})
}

func TestAPassThatPanicsIsNotTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		passes := 0
		decide := func(maintenance.Facts) maintenance.Decision {
			if passes++; passes < 3 {
				panic("on fire")
			}
			return maintenance.Decision{}
		}
		looping(t, decide, func(*world) { pass(time.Minute) })
		if passes != 3 {
			t.Errorf("there were %d passes", passes)
		}
	})
}
