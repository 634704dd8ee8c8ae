// SPDX-License-Identifier: Apache-2.0

package serverclock

import (
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// near is the difference of clocks that the package ignores.
const near = 5 * time.Second

// Clock is the machine's clock, corrected by the API server's answers. Its timers are the machine's.
type Clock struct {
	clock.WithTicker
	logger klog.Logger
	ahead  atomic.Int64 // in ns, of the server's clock before the machine's
}

// New returns a clock that trusts the machine's until an answer contradicts it. It logs changes of the difference.
func New(machine clock.WithTicker, logger klog.Logger) *Clock {
	return &Clock{WithTicker: machine, logger: logger}
}

// Now returns the time without the machine's monotonic clock, which ignores that a clock was set.
func (c *Clock) Now() time.Time { return c.machine().Add(time.Duration(c.ahead.Load())) }

// Since returns the time since t.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c *Clock) machine() time.Time { return c.WithTicker.Now().Round(0) }

// Seen returns the configuration of a client whose answers set the clock right.
func (c *Clock) Seen(config *rest.Config) *rest.Config {
	seen := rest.CopyConfig(config)
	seen.Wrap(func(next http.RoundTripper) http.RoundTripper { return roundTripper{next, c} })
	return seen
}

type roundTripper struct {
	next  http.RoundTripper
	clock *Clock
}

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	asked := r.clock.machine()
	response, err := r.next.RoundTrip(request)
	if err == nil {
		r.clock.answered(asked, r.clock.machine(), response.Header.Get("Date"))
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the innermost round tripper.
func (r roundTripper) WrappedRoundTripper() http.RoundTripper { return r.next }

// answered processes the Date of an answer.
func (c *Clock) answered(asked, came time.Time, date string) {
	server, err := http.ParseTime(date)
	if err != nil || came.Before(asked) { // no Date, or the machine's clock was set meanwhile
		return
	}
	ahead := apart(asked, came, server)
	if before := time.Duration(c.ahead.Load()); !changed(before, ahead) || !c.ahead.CompareAndSwap(int64(before), int64(ahead)) {
		return
	}
	if ahead == 0 {
		c.logger.Info("The clock of this machine agrees with the API server's")
		return
	}
	c.logger.Info("The clock of this machine differs from the API server's, whose time counts: set it", "serverIsAhead", ahead)
}

// apart returns the minimum by which the server's clock is ahead of the machine's: the server answered within a time, and
// names whole seconds. Zero means that they agree.
func apart(asked, came, server time.Time) time.Duration {
	if ahead := server.Sub(came); ahead > near {
		return ahead
	}
	if behind := asked.Sub(server.Add(time.Second)); behind > near {
		return -behind
	}
	return 0
}

// changed reports whether a difference is a new one: the times of answers vary.
func changed(before, found time.Duration) bool {
	if before == 0 || found == 0 {
		return before != found
	}
	return (found - before).Abs() > near
}
