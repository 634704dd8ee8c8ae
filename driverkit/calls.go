// SPDX-License-Identifier: Apache-2.0

package driverkit

import "sync"

// calls counts the calls in progress. gRPC's own graceful stop waits for calls without
// limit, and blocks the immediate stop in this time.
type calls struct {
	mu     sync.Mutex
	going  int
	closed chan struct{} // nil until close; closed after the last call
}

// enter reports whether a call may begin. If so, the call must leave.
func (c *calls) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		return false
	}
	c.going++
	return true
}

func (c *calls) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.going--
	if c.going == 0 && c.closed != nil {
		close(c.closed)
	}
}

// close rejects new calls. Call it once. The channel closes when no call is in progress.
func (c *calls) close() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = make(chan struct{})
	if c.going == 0 {
		close(c.closed)
	}
	return c.closed
}
