// SPDX-License-Identifier: Apache-2.0

package nodelease

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

var errOutage = errors.New("connection refused")

// lasts is for how long a lease is renewed here. No renewal falls on its end.
const lasts = 62 * time.Second

// TestKeep lets the holder of a lease work while its renewals, the first after 20 s, go as
// the case has it.
func TestKeep(t *testing.T) {
	for name, tc := range map[string]struct {
		// renewals are what the server says, one after the other; then that all is well.
		renewals []error
		// hangs: they are not answered at all.
		hangs bool
		works time.Duration
		// renewed is when it asks, in seconds.
		renewed []int
		// stopped is when the work was canceled, if it was.
		stopped time.Duration
		lost    string
	}{
		"a short work asks for nothing":                            {works: 19 * time.Second},
		"it renews at a third":                                     {works: 70 * time.Second, renewed: []int{20, 40, 60}},
		"after a failure it asks more often, until one succeeds":   {renewals: []error{errOutage, errOutage}, works: 65 * time.Second, renewed: []int{20, 25, 30, 50}},
		"an outage that is longer than the lease stops it":         {renewals: outage(20), works: time.Hour, renewed: []int{20, 25, 30, 35, 40, 45, 50, 55, 60}, stopped: lasts, lost: "the lease is lost: it has expired: connection refused"},
		"one that begins later is counted from the last renewal":   {renewals: append([]error{nil}, outage(20)...), works: time.Hour, renewed: []int{20, 40, 45, 50, 55, 60, 65, 70, 75, 80}, stopped: 20*time.Second + lasts, lost: "the lease is lost: it has expired: connection refused"},
		"a server that never answers stops it, and is not awaited": {hangs: true, works: time.Hour, renewed: []int{20}, stopped: lasts, lost: "the lease is lost: it has expired: the API server has not answered"},
		"somebody who breaks the lease stops it at once": {
			renewals: []error{nil, fmt.Errorf("renew: %w", notHolder("fwup", Held{Holder: "other"}))}, works: time.Hour, renewed: []int{20, 40},
			stopped: 40 * time.Second, lost: `the lease is lost: renew: "fwup" does not hold the lease: the holder is "other"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				since := func() time.Duration { return time.Since(begin) }
				held := Held{Holder: "fwup", Since: begin, Until: begin.Add(lasts)}
				var renewed []int
				k := keeper{clock: clock.RealClock{}, every: 20 * time.Second, renew: func(ctx context.Context) (Held, error) {
					renewed = append(renewed, int(since()/time.Second))
					if tc.hangs {
						<-ctx.Done()
						return Held{}, ctx.Err()
					}
					if len(renewed) <= len(tc.renewals) && tc.renewals[len(renewed)-1] != nil {
						return Held{}, tc.renewals[len(renewed)-1]
					}
					return Held{Holder: "fwup", Since: begin, Until: time.Now().Add(lasts)}, nil
				}}
				var stopped time.Duration
				lost, err := k.during(t.Context(), held, func(ctx context.Context) error {
					select {
					case <-ctx.Done():
						stopped = since()
						return context.Cause(ctx)
					case <-time.After(tc.works):
						return nil
					}
				})
				if diff := cmp.Diff(tc.renewed, renewed); diff != "" {
					t.Errorf("renewed at second (-want +got):\n%s", diff)
				}
				if stopped != tc.stopped {
					t.Errorf("stopped after %s, want %s", stopped, tc.stopped)
				}
				if text(lost) != tc.lost || text(err) != tc.lost || lost != nil && !errors.Is(lost, ErrLost) {
					t.Errorf("lost: %v; the work says %v; want %q", lost, err, tc.lost)
				}
			})
		})
	}
}

func outage(failures int) (all []error) {
	for range failures {
		all = append(all, errOutage)
	}
	return all
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A process that is told to end winds up; until it has, nobody else may begin.
func TestTheLeaseIsKeptWhileTheWorkWindsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		renewals := 0
		k := keeper{clock: clock.RealClock{}, every: 20 * time.Second, renew: func(ctx context.Context) (Held, error) {
			renewals++
			return Held{Holder: "fwup", Until: time.Now().Add(lasts)}, ctx.Err()
		}}
		ctx, cancel := context.WithCancel(t.Context())
		lost, err := k.during(ctx, Held{Holder: "fwup", Until: time.Now().Add(lasts)}, func(ctx context.Context) error {
			cancel()
			<-ctx.Done()
			<-time.After(5 * time.Minute)
			return errors.New("wound up")
		})
		if lost != nil || text(err) != "wound up" || renewals < 14 {
			t.Errorf("lost: %v, err: %v, after %d renewals", lost, err, renewals)
		}
	})
}

// An administrator's lease never expires; that it was broken is noticed all the same.
func TestAnAdministratorsLeaseIsLostOnlyIfItIsBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		renewals := 0
		k := keeper{clock: clock.RealClock{}, every: MaxDuration / 3, renew: func(context.Context) (Held, error) {
			if renewals++; renewals < 100 {
				return Held{}, errOutage
			}
			return Held{}, notHolder("kubeadmin-alice", Held{})
		}}
		lost, err := k.during(t.Context(), Held{Holder: "kubeadmin-alice", Administrator: true}, func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		})
		if err != nil || !errors.Is(lost, ErrNotHolder) || renewals != 100 {
			t.Errorf("lost: %v, err: %v, after %d renewals", lost, err, renewals)
		}
	})
}

// A panic goes on to whoever called, and nothing renews after it.
func TestAPanicEndsTheRenewing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("the panic is gone")
			}
		}()
		k := keeper{clock: clock.RealClock{}, every: time.Second, renew: func(context.Context) (Held, error) { return Held{}, errOutage }}
		_, _ = k.during(t.Context(), Held{Holder: "fwup", Until: time.Now().Add(lasts)}, func(context.Context) error { panic("oh") })
	})
}
