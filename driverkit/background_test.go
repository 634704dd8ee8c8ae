// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// rehearsal is a RunFunc that does what the test says.
type rehearsal struct {
	runs chan *performance
}

// performance is one run of it.
type performance struct {
	ctx    context.Context
	call   Call
	report func(Answer)
	result chan error
}

func newRehearsal() *rehearsal { return &rehearsal{runs: make(chan *performance, 10)} }

// run returns what the test sends, whatever happens to ctx.
func (r *rehearsal) run(ctx context.Context, call Call, report func(Answer)) error {
	p := &performance{ctx: ctx, call: call, report: report, result: make(chan error, 1)}
	r.runs <- p
	return <-p.result
}

// next is the run that began last. The test fails if none did.
func (r *rehearsal) next(t *testing.T) *performance {
	t.Helper()
	synctest.Wait()
	select {
	case p := <-r.runs:
		return p
	default:
		t.Fatal("no run began")
		return nil
	}
}

func (r *rehearsal) wantNone(t *testing.T) {
	t.Helper()
	synctest.Wait()
	select {
	case p := <-r.runs:
		t.Fatalf("a run began for %s", p.call.Event)
	default:
	}
}

func event(name string) Call {
	return Call{Transition: "t", Event: name, EventUID: "uid-" + name, Node: "n1", StartState: "s", EndState: "e"}
}

func withoutUID(call Call) Call {
	call.EventUID = call.Event
	return call
}

func withParameters(call Call, generation int64, parameters string) Call {
	call.ParametersGeneration, call.Parameters = generation, []byte(parameters)
	return call
}

func waiting(call Call) Call {
	call.Wait = 30 * time.Second
	return call
}

// must is the answer of a call that must not fail.
func must(t *testing.T) func(Answer, error) Answer {
	return func(answer Answer, err error) Answer {
		t.Helper()
		if err != nil {
			t.Fatalf("unexpected error: %v", err)
		}
		return answer
	}
}

func wantError(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("error is %v, want %v", got, want)
	}
}

func wantAnswer(t *testing.T, got, want Answer) {
	t.Helper()
	want.Waits = true
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("answer (-want +got):\n%s", diff)
	}
}

// later makes a call whose answer is taken later.
func later(do method, ctx context.Context, call Call) func() (Answer, error) {
	type result struct {
		answer Answer
		err    error
	}
	results := make(chan result, 1)
	go func() {
		answer, err := do(ctx, call)
		results <- result{answer, err}
	}()
	return func() (Answer, error) {
		r := <-results
		return r.answer, r.err
	}
}

var errBroken = errors.New("broken")

func TestBackground(t *testing.T) {
	cases := map[string]func(t *testing.T, ctx context.Context, d Driver, r *rehearsal){
		"a second Start for the same event does not begin a second run": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			wantAnswer(t, must(t)(d.Start(ctx, event("a"))), Answer{})
			p := r.next(t)
			wantAnswer(t, must(t)(d.Start(ctx, event("a"))), Answer{})
			wantAnswer(t, must(t)(d.End(ctx, event("a"))), Answer{})
			r.wantNone(t)
			p.result <- nil
		},
		"the run outlives the call that began it": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			callCtx, cancel := context.WithCancel(ctx)
			must(t)(d.Start(callCtx, event("a")))
			p := r.next(t)
			cancel()
			if err := p.ctx.Err(); err != nil {
				t.Fatalf("the run's context has ended: %v", err)
			}
			p.result <- nil
		},
		"the run sees the call, without its wait": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			call := withParameters(event("a"), 3, `{"x":1}`)
			end := later(d.End, ctx, waiting(call))
			p := r.next(t)
			if diff := cmp.Diff(call, p.call); diff != "" {
				t.Fatalf("call (-want +got):\n%s", diff)
			}
			p.result <- nil
			wantAnswer(t, must(t)(end()), Answer{Done: true})
		},
		"End with no run going begins one: the driver restarted": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			wantAnswer(t, must(t)(d.End(ctx, event("a"))), Answer{})
			p := r.next(t)
			p.result <- nil
			synctest.Wait()
			wantAnswer(t, must(t)(d.End(ctx, event("a"))), Answer{Done: true})
		},
		"End answers the latest report": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, event("a")))
			p := r.next(t)
			p.report(Answer{Message: "one"})
			p.report(Answer{Message: "two", Progress: &Progress{Total: 4, Done: 2}, Done: true})
			wantAnswer(t, must(t)(d.End(ctx, event("a"))), Answer{Message: "two", Progress: &Progress{Total: 4, Done: 2}})
			p.result <- nil
		},
		"a result is kept, with the last report, until another event comes": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, event("a")))
			p := r.next(t)
			p.report(Answer{Message: "all gone"})
			p.result <- nil
			synctest.Wait()
			for range 2 {
				wantAnswer(t, must(t)(d.End(ctx, event("a"))), Answer{Message: "all gone", Done: true})
				wantAnswer(t, must(t)(d.Start(ctx, event("a"))), Answer{Message: "all gone", Done: true})
			}
			must(t)(d.Start(ctx, event("b")))
			p = r.next(t)
			wantAnswer(t, must(t)(d.End(ctx, event("b"))), Answer{})
			p.result <- nil
		},
		"an error of the run is answered, again and again": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, event("a")))
			r.next(t).result <- errBroken
			synctest.Wait()
			for range 2 {
				_, err := d.End(ctx, event("a"))
				wantError(t, err, errBroken)
				_, err = d.Start(ctx, event("a"))
				wantError(t, err, errBroken)
			}
			r.wantNone(t)
		},
		"a report after the end is not heard": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, event("a")))
			p := r.next(t)
			p.result <- nil
			synctest.Wait()
			p.report(Answer{Message: "late"})
			wantAnswer(t, must(t)(d.End(ctx, event("a"))), Answer{Done: true})
		},
		"a panic fails the event": func(t *testing.T, ctx context.Context, _ Driver, _ *rehearsal) {
			d := Background(func(context.Context, Call, func(Answer)) error { panic("oh no") })
			_, _ = d.Start(ctx, event("a")) // it may have panicked by then
			synctest.Wait()
			_, err := d.End(ctx, event("a"))
			wantError(t, err, panicError{"oh no"})
			if !strings.Contains(err.Error(), "oh no") {
				t.Fatalf("the error does not say what the panic said: %v", err)
			}
		},
		"a run that ends its goroutine fails the event": func(t *testing.T, ctx context.Context, _ Driver, _ *rehearsal) {
			d := Background(func(context.Context, Call, func(Answer)) error {
				runtime.Goexit()
				return nil
			})
			_, _ = d.Start(ctx, event("a")) // it may have ended by then
			synctest.Wait()
			_, err := d.End(ctx, event("a"))
			wantError(t, err, errNoReturn)
		},
		"nodes do not disturb each other": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			other := event("b")
			other.Node = "n2"
			must(t)(d.Start(ctx, event("a")))
			a := r.next(t)
			must(t)(d.Start(ctx, other))
			b := r.next(t)
			if a.ctx.Err() != nil {
				t.Fatal("the run of the first node was canceled")
			}
			a.result <- nil
			b.result <- nil
		},
	}
	rehearse(t, cases)
}

func TestBackgroundCallerWithoutUIDs(t *testing.T) {
	call := withoutUID(event("a"))
	rehearse(t, map[string]func(t *testing.T, ctx context.Context, d Driver, r *rehearsal){
		"a Start while the run is going on does not begin another": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, call))
			p := r.next(t)
			must(t)(d.Start(ctx, call))
			r.wantNone(t)
			p.result <- nil
		},
		"a Start after the end is a new event of the same name": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, call))
			p := r.next(t)
			p.report(Answer{Message: "old"})
			p.result <- nil
			synctest.Wait()
			wantAnswer(t, must(t)(d.End(ctx, call)), Answer{Message: "old", Done: true})
			wantAnswer(t, must(t)(d.Start(ctx, call)), Answer{})
			r.next(t).result <- nil
		},
		"a Start after Stop is a new event of the same name": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, call))
			r.next(t).result <- nil
			synctest.Wait()
			must(t)(d.Stop(ctx, call))
			must(t)(d.Start(ctx, call))
			r.next(t).result <- nil
		},
	})
}

func TestBackgroundStop(t *testing.T) {
	rehearse(t, map[string]func(t *testing.T, ctx context.Context, d Driver, r *rehearsal){
		"Stop cancels the run, waits for it, and does not believe that it is done": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, event("a")))
			p := r.next(t)
			stop := later(d.Stop, ctx, event("a"))
			synctest.Wait()
			wantError(t, context.Cause(p.ctx), ErrStopped)
			p.report(Answer{Message: "half done"})
			p.result <- nil
			wantAnswer(t, must(t)(stop()), Answer{Message: "half done"})
		},
		"Stop of a run that is done says so": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, event("a")))
			r.next(t).result <- nil
			synctest.Wait()
			wantAnswer(t, must(t)(d.Stop(ctx, event("a"))), Answer{Done: true})
		},
		"Stop of a run that does not return is to be asked again": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, event("a")))
			p := r.next(t)
			callCtx, cancel := context.WithTimeout(ctx, 45*time.Second)
			defer cancel()
			_, err := d.Stop(callCtx, event("a"))
			wantError(t, err, ErrTryAgain)
			p.result <- errBroken
			wantAnswer(t, must(t)(d.Stop(ctx, event("a"))), Answer{})
		},
		"Stop of an event that is not known, twice": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			wantAnswer(t, must(t)(d.Stop(ctx, event("a"))), Answer{})
			wantAnswer(t, must(t)(d.Stop(ctx, event("a"))), Answer{})
			r.wantNone(t)
		},
		"Stop does not touch the run of another event": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, event("a")))
			p := r.next(t)
			must(t)(d.Stop(ctx, event("b")))
			if p.ctx.Err() != nil {
				t.Fatal("the other event's run was canceled")
			}
			p.result <- nil
		},
		"a Start that was overtaken by its Stop begins nothing": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Stop(ctx, event("a")))
			_, err := d.Start(ctx, event("a"))
			wantError(t, err, ErrStopped)
			_, err = d.End(ctx, event("a"))
			wantError(t, err, ErrStopped)
			r.wantNone(t)
		},
		"a Start that nobody waits for any more begins nothing": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			callCtx, cancel := context.WithCancel(ctx)
			cancel()
			_, err := d.Start(callCtx, event("a"))
			wantError(t, err, ErrTryAgain)
			r.wantNone(t)
		},
		"another event ends the older one's run first": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			for _, do := range []method{d.Start, d.End} {
				must(t)(d.Start(ctx, event("a")))
				old := r.next(t)
				begin := later(do, ctx, event("b"))
				r.wantNone(t)
				wantError(t, context.Cause(old.ctx), ErrReplaced)
				old.result <- old.ctx.Err()
				wantAnswer(t, must(t)(begin()), Answer{})
				r.next(t).result <- nil
				synctest.Wait()
			}
		},
		"Close cancels all runs, waits for them, and lets nothing begin": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, event("a")))
			p := r.next(t)
			end := later(d.End, ctx, waiting(event("a")))
			closed := later(func(ctx context.Context, _ Call) (Answer, error) {
				return Answer{}, d.(Closer).Close(ctx)
			}, ctx, Call{})
			synctest.Wait()
			wantError(t, context.Cause(p.ctx), ErrShutdown)
			p.result <- nil
			must(t)(closed())
			_, err := end()
			wantError(t, err, ErrTryAgain)
			_, err = d.Start(ctx, event("b"))
			wantError(t, err, ErrTryAgain)
			r.wantNone(t)
		},
		"Close gives up on a run that does not return, and names its event": func(t *testing.T, ctx context.Context, d Driver, r *rehearsal) {
			must(t)(d.Start(ctx, event("a")))
			p := r.next(t)
			closeCtx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			err := d.(Closer).Close(closeCtx)
			if err == nil || !strings.Contains(err.Error(), "event a") {
				t.Fatalf("error is %v, want one that names the event", err)
			}
			p.result <- nil
		},
	})
}

// rehearse runs each case in a bubble of its own, with a driver of its own.
func rehearse(t *testing.T, cases map[string]func(t *testing.T, ctx context.Context, d Driver, r *rehearsal)) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRehearsal()
				tc(t, quiet(t), Background(r.run), r)
			})
		})
	}
}
