// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// closeGrace limits the return of a Close after its context has ended.
const closeGrace = time.Second

// stop ends in an order that loses no answer: it first rejects new callers, then ends the
// work, answers waiting callers, and closes the sockets.
func (p *plugin) stop(ctx context.Context) error {
	errs := []error{p.registrationSocket.unlink()}
	p.registrationServer.Stop()

	idle := p.service.calls.close()
	p.releaseHeld()
	errs = append(errs, p.closeDriver(ctx), p.driverSocket.unlink(), p.drainCalls(idle))
	return errors.Join(errs...)
}

func (p *plugin) closeDriver(ctx context.Context) error {
	closer, ok := p.driver.(Closer)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := p.config.Clock.NewTimer(shutdownGrace)
	defer timer.Stop()

	closed := make(chan error, 1)
	go func() { closed <- closer.Close(ctx) }()
	select {
	case err := <-closed:
		return err
	case <-timer.C():
	}
	cancel()
	timer.Reset(closeGrace)
	select {
	case err := <-closed:
		return err
	case <-timer.C():
		return fmt.Errorf("the driver's Close did not return %s after its context had ended", closeGrace)
	}
}

// drainCalls waits for the calls in progress, or aborts them.
func (p *plugin) drainCalls(idle <-chan struct{}) error {
	timer := p.config.Clock.NewTimer(shutdownGrace)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C():
		p.driverServer.Stop()
		return fmt.Errorf("aborted calls that had not ended %s after the beginning of the shutdown", shutdownGrace)
	}
	// Send the remaining answers, which is fast if the callers read them.
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		p.driverServer.GracefulStop()
	}()
	select {
	case <-sent:
	case <-timer.C():
		p.driverServer.Stop()
		<-sent
	}
	return nil
}

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
