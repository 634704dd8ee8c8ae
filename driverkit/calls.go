// SPDX-License-Identifier: Apache-2.0

package driverkit

import "sync"

// calls counts the calls that are going on. gRPC's own graceful stop waits for calls
// without limit, and holds up the stop that is not graceful meanwhile.
type calls struct {
	mu     sync.Mutex
	going  int
	closed chan struct{} // nil until close; closed when the last call has ended
}

// enter says whether a call may begin. If so, it must leave.
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

// close lets no call begin any more. It is called once. The channel is closed when
// none is going on.
func (c *calls) close() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = make(chan struct{})
	if c.going == 0 {
		close(c.closed)
	}
	return c.closed
}
