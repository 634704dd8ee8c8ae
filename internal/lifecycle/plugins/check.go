// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/connectivity"
)

// checkLimit is how long a check goes on. Whoever still wants to know by then, asks
// again.
const checkLimit = time.Minute

// check finds out whether an instance is ready.
type check struct {
	key    string
	cancel context.CancelFunc

	mu   sync.Mutex
	said string
}

// Check finds out whether the newest instance of a driver is ready, on a connection
// of its own: a process that has frozen accepts connections all the same, but does
// not speak on them. The check goes on until the instance is ready, or for a minute.
// Then OnChange is called, and the key is in State.ReadyFor if it is ready.
//
// A check for the same key that goes on, or has found the instance ready, is not
// repeated; one for another key takes its place. If the driver is not registered,
// nothing happens.
func (r *Registry) Check(name, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, ok := r.drivers[name]
	if !ok || d.newest() == nil || d.readyFor == key {
		return
	}
	if d.check != nil {
		if d.check.key == key {
			return
		}
		d.check.cancel()
	}
	r.startCheck(d, key)
}

// startCheck is called with the lock held.
func (r *Registry) startCheck(d *driver, key string) {
	if !r.running {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &check{key: key, cancel: cancel, said: "it has not been reached yet"}
	d.check = c
	endpoint := d.newest().endpoint
	r.checks.Go(func() {
		defer cancel()
		defer r.clock.AfterFunc(checkLimit, cancel).Stop()
		ready := c.isReady(ctx, endpoint)
		if r.finishCheck(d, c, ready) {
			r.onChange()
		}
	})
}

// isReady waits until the instance has spoken: the connection is Ready when the
// settings of HTTP/2 have been received.
func (c *check) isReady(ctx context.Context, endpoint string) bool {
	conn, err := connect(endpoint, func(err error) {
		if ctx.Err() == nil { // else err says only that the check is over
			c.dialed(err)
		}
	})
	if err != nil {
		c.say(err.Error())
		return false
	}
	defer closeConn(conn)
	for {
		state := conn.GetState()
		if state == connectivity.Ready {
			return true
		}
		conn.Connect()
		if !conn.WaitForStateChange(ctx, state) {
			return false
		}
	}
}

// finishCheck records the result, unless another check has taken its place.
func (r *Registry) finishCheck(d *driver, c *check, ready bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d.check != c {
		return false
	}
	d.check = nil
	if ready {
		d.readyFor, d.notReady = c.key, ""
	} else {
		d.notReady = c.problem()
	}
	return true
}

// dialed is told how an attempt to connect went. What it says of one that went well
// is read only while nothing has come on it.
func (c *check) dialed(err error) {
	if err != nil {
		c.say(err.Error())
		return
	}
	c.say("it accepts connections, but does not answer on them")
}

func (c *check) say(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = what
}

func (c *check) problem() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said
}
