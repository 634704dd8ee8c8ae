// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// pass lets time pass in the bubble.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestBackgroundIsAbandoned(t *testing.T) {
	rehearse(t, map[string]func(t *testing.T, ctx context.Context, d Driver, r *rehearsal){
		"a run that nobody calls for ends, and the next call begins it again": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, event("a")))
			p := r.next(t)
			p.report(Answer{Message: "half"})
			pass(AbandonedAfter - time.Second)
			if err := context.Cause(p.ctx); err != nil {
				t.Fatalf("it ends too early: %v", err)
			}
			pass(time.Second)
			wantError(t, context.Cause(p.ctx), ErrAbandoned)
			p.result <- nil
			wantAnswer(t, must(t)(d.End(ctx, event("a"))), Answer{Message: "half"})
			again := r.next(t)
			if diff := cmp.Diff(p.call, again.call); diff != "" {
				t.Fatalf("call (-want +got):\n%s", diff)
			}
			again.result <- nil
			synctest.Wait()
			wantAnswer(t, must(t)(d.End(ctx, event("a"))), Answer{Message: "half", Done: true})
		},
		"each call for the event keeps it going": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, event("a")))
			p := r.next(t)
			for _, do := range []method{d.Start, d.End} {
				pass(AbandonedAfter - time.Second)
				must(t)(do(ctx, event("a")))
			}
			pass(AbandonedAfter - time.Second)
			if err := context.Cause(p.ctx); err != nil {
				t.Fatalf("it has ended: %v", err)
			}
			p.result <- nil
		},
		"an answer that is held is a call": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, event("a")))
			p := r.next(t)
			for range 5 {
				wantTook(t, took(func() { must(t)(d.End(ctx, waiting(event("a")))) }), maxWait)
			}
			if err := context.Cause(p.ctx); err != nil {
				t.Fatalf("it has ended: %v", err)
			}
			p.result <- nil
		},
		"one that does not return at once is waited for by who comes": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, event("a")))
			p := r.next(t)
			pass(AbandonedAfter)
			end := later(d.End, ctx, event("a"))
			r.wantNone(t)
			p.result <- nil
			must(t)(end())
			r.next(t).result <- nil
		},
		"how a run has ended by itself stays": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, event("a")))
			r.next(t).result <- nil
			pass(AbandonedAfter + forgetAfter)
			wantAnswer(t, must(t)(d.End(ctx, event("a"))), Answer{Done: true})
			r.wantNone(t)
		},
	})
}

// on is the call for an event of a node.
func on(node string) Call {
	call := event("of-" + node)
	call.Node = node
	return call
}

func TestBackgroundForgetsNodes(t *testing.T) {
	known := func(d Driver) []string { return slices.Sorted(maps.Keys(d.(*background).nodes)) }
	want := func(t *testing.T, d Driver, names ...string) {
		t.Helper()
		if diff := cmp.Diff(names, known(d)); diff != "" {
			t.Fatalf("nodes that are known (-want +got):\n%s", diff)
		}
	}
	rehearse(t, map[string]func(t *testing.T, ctx context.Context, d Driver, r *rehearsal){
		"whose work is over, and for whom nobody has called for long": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			for _, node := range []string{"done", "stopped", "never"} {
				if node != "never" {
					must(t)(d.Start(ctx, on(node)))
					r.next(t).result <- nil
				}
			}
			must(t)(d.Stop(ctx, on("stopped")))
			must(t)(d.Stop(ctx, on("never")))
			pass(forgetAfter)
			must(t)(d.End(ctx, on("done")))
			want(t, d, "done")
			r.wantNone(t)
		},
		"but none that is at work": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, on("slow")))
			slow := r.next(t)
			pass(forgetAfter) // it is told to stop, and does not
			must(t)(d.Stop(ctx, on("other")))
			want(t, d, "other", "slow")
			slow.result <- nil
		},
		"nor one that a late call may come for: what was stopped does not begin again": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Stop(ctx, on("stopped")))
			pass(forgetAfter - time.Second)
			must(t)(d.Stop(ctx, on("other")))
			_, err := d.Start(ctx, on("stopped"))
			wantError(t, err, ErrStopped)
			r.wantNone(t)
		},
	})
}
