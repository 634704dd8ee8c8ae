// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// through is the event with another transition.
func through(transition string, call Call) Call {
	call.Transition = transition
	return call
}

// troupe is a driver with the transitions drain and uncordon.
func troupe(do func(t *testing.T, ctx context.Context, d Driver, drain, uncordon *rehearsal)) func(*testing.T) {
	return func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			drain, uncordon := newRehearsal(), newRehearsal()
			d := ByTransition(map[string]Driver{"drain": Background(drain.run), "uncordon": Background(uncordon.run)})
			do(t, quiet(t), d, drain, uncordon)
		})
	}
}

func TestByTransition(t *testing.T) {
	t.Run("each call goes to the driver of its transition", func(t *testing.T) {
		var got []string
		record := func(name string) method {
			return func(context.Context, Call) (Answer, error) {
				got = append(got, name)
				return Answer{}, nil
			}
		}
		d := ByTransition(map[string]Driver{
			"drain":    script{start: record("drain start"), end: record("drain end"), stop: record("drain stop")},
			"uncordon": script{start: record("uncordon start")},
		})
		for _, do := range []method{d.Start, d.End, d.Stop} {
			must(t)(do(quiet(t), through("drain", event("a"))))
		}
		must(t)(d.Start(quiet(t), through("uncordon", event("b"))))
		want := []string{"drain start", "drain end", "drain stop", "uncordon start"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})

	t.Run("a transition that there is none of", func(t *testing.T) {
		d := ByTransition(map[string]Driver{"drain": script{}, "uncordon": script{}})
		for _, do := range []method{d.Start, d.End, d.Stop} {
			_, err := do(quiet(t), through("reboot", event("a")))
			if want := `this driver has no transition "reboot"; it has drain, uncordon`; err == nil || err.Error() != want {
				t.Errorf("error is %v, want %s", err, want)
			}
		}
	})

	t.Run("an event ends the run of an older one with another transition", troupe(
		func(t *testing.T, ctx context.Context, d Driver, drain, uncordon *rehearsal) {
			must(t)(d.Start(ctx, through("drain", event("a"))))
			old := drain.next(t)
			begin := later(d.Start, ctx, through("uncordon", event("b")))
			uncordon.wantNone(t)
			wantError(t, context.Cause(old.ctx), ErrReplaced)
			old.result <- nil
			must(t)(begin())
			uncordon.next(t).result <- nil
		}))

	t.Run("an older run that does not return is to be asked again", troupe(
		func(t *testing.T, ctx context.Context, d Driver, drain, uncordon *rehearsal) {
			must(t)(d.Start(ctx, through("drain", event("a"))))
			old := drain.next(t)
			callCtx, cancel := context.WithCancel(ctx)
			begin := later(d.Start, callCtx, through("uncordon", event("b")))
			synctest.Wait()
			cancel()
			_, err := begin()
			wantError(t, err, ErrTryAgain)
			uncordon.wantNone(t)
			old.result <- nil
		}))

	t.Run("Close closes all", troupe(
		func(t *testing.T, ctx context.Context, d Driver, drain, uncordon *rehearsal) {
			elsewhere := through("uncordon", event("b"))
			elsewhere.Node = "n2"
			must(t)(d.Start(ctx, through("drain", event("a"))))
			must(t)(d.Start(ctx, elsewhere))
			first, second := drain.next(t), uncordon.next(t)
			closed := make(chan error, 1)
			go func() { closed <- d.(Closer).Close(ctx) }()
			synctest.Wait()
			wantError(t, context.Cause(first.ctx), ErrShutdown)
			wantError(t, context.Cause(second.ctx), ErrShutdown)
			first.result <- nil
			second.result <- nil
			if err := <-closed; err != nil {
				t.Fatal(err)
			}
		}))
}
