// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// node is what registered writes to, and the drivers of which.
type registeredOn struct {
	names  []string
	writes []string
	fails  int
}

func (n *registeredOn) write(_ context.Context, names []string) error {
	if n.fails > 0 {
		n.fails--
		return errors.New("no")
	}
	n.writes = append(n.writes, strings.Join(names, ","))
	return nil
}

func TestTheNodeSaysWhichDriversAreRegisteredOnceTheyStay(t *testing.T) {
	for name, tc := range map[string]struct {
		fails int
		// script is what happens, and how long after it nothing does.
		script func(change func(names ...string), pass func(time.Duration))
		want   string
	}{
		"a driver that registers at the start is written once": {0, func(change func(...string), pass func(time.Duration)) {
			change("drain")
			pass(time.Hour)
		}, "drain"},
		"none is worth a word as well": {0, func(_ func(...string), pass func(time.Duration)) { pass(time.Hour) }, ""},
		"a driver that restarts is no news": {0, func(change func(...string), pass func(time.Duration)) {
			change("drain")
			pass(time.Minute)
			change()
			pass(settleTime - time.Second)
			change("drain")
			pass(time.Hour)
		}, "drain"},
		"a driver that is as it was is no news": {0, func(change func(...string), pass func(time.Duration)) {
			for range 3 { // as when a connection comes to rest, and is used again
				change("drain")
				pass(time.Minute)
			}
		}, "drain"},
		"a driver that stays away is": {0, func(change func(...string), pass func(time.Duration)) {
			change("drain", "firmware")
			pass(time.Minute)
			change("drain")
			pass(time.Hour)
		}, "drain,firmware drain"},
		"a write that fails is tried again": {2, func(change func(...string), pass func(time.Duration)) {
			change("drain")
			pass(settleTime + 3*retryTime)
		}, "drain"},
		"a write that fails is tried again although nothing has changed": {1, func(change func(...string), pass func(time.Duration)) {
			pass(settleTime + time.Second)
			change()
			pass(time.Hour)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				on := &registeredOn{fails: tc.fails}
				r := newRegistered(clock.RealClock{}, func() []string { return on.names }, on.write)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- r.Start(ctx) }()
				pass := func(d time.Duration) {
					timer := time.NewTimer(d)
					<-timer.C
					synctest.Wait()
				}
				tc.script(func(names ...string) {
					on.names = names
					r.look()
				}, pass)
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if got := strings.Join(on.writes, " "); got != tc.want {
					t.Errorf("it wrote %q; want %q", got, tc.want)
				}
			})
		})
	}
}
