// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// took is how long it takes, in the bubble's time, which stands still while anything
// is going on.
func took(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began)
}

func wantTook(t *testing.T, got, want time.Duration) {
	t.Helper()
	if got != want {
		t.Fatalf("it took %s, want %s", got, want)
	}
}

func TestBackgroundWait(t *testing.T) {
	rehearse(t, map[string]func(t *testing.T, ctx context.Context, d Driver, r *rehearsal){
		"without news, the answer is held until the wait is over": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, event("a")))
			p := r.next(t)
			wantTook(t, took(func() {
				wantAnswer(t, must(t)(d.End(ctx, waiting(event("a")))), Answer{})
			}), 30*time.Second)
			p.result <- nil
		},
		"a report is answered at once": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, event("a")))
			p := r.next(t)
			end := later(d.End, ctx, waiting(event("a")))
			synctest.Wait()
			p.report(Answer{Message: "news"})
			wantTook(t, took(func() { wantAnswer(t, must(t)(end()), Answer{Message: "news"}) }), 0)
			p.result <- nil
		},
		"the end is answered at once, also to an End that comes later": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, event("a")))
			p := r.next(t)
			end := later(d.End, ctx, waiting(event("a")))
			synctest.Wait()
			p.result <- nil
			wantTook(t, took(func() {
				wantAnswer(t, must(t)(end()), Answer{Done: true})
				wantAnswer(t, must(t)(d.End(ctx, waiting(event("a")))), Answer{Done: true})
			}), 0)
		},
		"a change between two Ends is not missed": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, event("a")))
			p := r.next(t)
			p.report(Answer{Message: "one"})
			must(t)(d.End(ctx, waiting(event("a"))))
			p.report(Answer{Message: "two"})
			wantTook(t, took(func() {
				wantAnswer(t, must(t)(d.End(ctx, waiting(event("a")))), Answer{Message: "two"})
			}), 0)
			p.result <- nil
		},
		"a report before Start has been answered is not news": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, event("a")))
			p := r.next(t)
			p.report(Answer{Message: "one"})
			wantAnswer(t, must(t)(d.Start(ctx, event("a"))), Answer{Message: "one"})
			wantTook(t, took(func() { must(t)(d.End(ctx, waiting(event("a")))) }), 30*time.Second)
			p.result <- nil
		},
		"the same report again is not news": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, event("a")))
			p := r.next(t)
			p.report(Answer{Message: "one", Blockers: []Blocker{{Object: "Pod a/b"}}})
			must(t)(d.End(ctx, waiting(event("a"))))
			end := later(d.End, ctx, waiting(event("a")))
			synctest.Wait()
			p.report(Answer{Message: "one", Blockers: []Blocker{{Object: "Pod a/b"}}})
			wantTook(t, took(func() { must(t)(end()) }), 30*time.Second)
			p.result <- nil
		},
		"an End that nobody waits for does not take the news from the next one": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, event("a")))
			p := r.next(t)
			callCtx, cancel := context.WithCancel(ctx)
			end := later(d.End, callCtx, waiting(event("a")))
			synctest.Wait()
			cancel()
			_, err := end()
			wantError(t, err, ErrTryAgain)
			p.report(Answer{Message: "news"})
			wantTook(t, took(func() {
				wantAnswer(t, must(t)(d.End(ctx, waiting(event("a")))), Answer{Message: "news"})
			}), 0)
			p.result <- nil
		},
	})
}

func TestBackgroundParameters(t *testing.T) {
	first := withParameters(event("a"), 1, `{"hold":true}`)
	second := withParameters(event("a"), 2, `{"hold":false}`)
	rehearse(t, map[string]func(t *testing.T, ctx context.Context, d Driver, r *rehearsal){
		"newer parameters begin the run again, after the first has returned": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, first))
			old := r.next(t)
			old.report(Answer{Message: "held"})
			end := later(d.End, ctx, second)
			r.wantNone(t)
			wantError(t, context.Cause(old.ctx), ErrParametersChanged)
			old.result <- nil
			wantAnswer(t, must(t)(end()), Answer{Message: "held"})
			p := r.next(t)
			if got := string(p.call.Parameters); got != `{"hold":false}` {
				t.Fatalf("parameters are %s", got)
			}
			p.result <- nil
			synctest.Wait()
			wantAnswer(t, must(t)(d.End(ctx, second)), Answer{Message: "held", Done: true})
		},
		"an answer that is being held is given up": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, first))
			old := r.next(t)
			held := later(d.End, ctx, waiting(first))
			synctest.Wait()
			end := later(d.End, ctx, second)
			synctest.Wait()
			old.result <- nil
			_, err := held()
			wantError(t, err, ErrTryAgain)
			must(t)(end())
			r.next(t).result <- nil
		},
		"newer parameters begin the run again that had ended": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, first))
			r.next(t).result <- nil
			synctest.Wait()
			wantAnswer(t, must(t)(d.End(ctx, second)), Answer{})
			r.next(t).result <- nil
		},
		"a newer generation with the same parameters disturbs nothing": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, first))
			p := r.next(t)
			must(t)(d.End(ctx, withParameters(event("a"), 3, `{"hold":true}`)))
			must(t)(d.End(ctx, second)) // which is out of date now
			if p.ctx.Err() != nil {
				t.Fatal("the run was canceled")
			}
			p.result <- nil
		},
		"a call that is out of date disturbs nothing": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, second))
			p := r.next(t)
			must(t)(d.End(ctx, first))
			if p.ctx.Err() != nil {
				t.Fatal("the run was canceled")
			}
			p.result <- nil
		},
	})
}
