// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/clock"
)

// closeGrace limits the return of a Close after its context has ended, and then the sending
// of the last answers.
const closeGrace = time.Second

// stop ends in an order that loses no answer: it first rejects new callers, then ends the
// work, answers waiting callers, and closes the sockets.
func (p *plugin) stop(ctx context.Context) error {
	errs := []error{p.registrationSocket.unlink()}
	if p.registrationServer != nil {
		p.registrationServer.Stop()
	}

	idle := make(chan struct{})
	go func() { // it ends with the last call
		p.service.calls.Lock()
		close(idle)
	}()
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
	closed := make(chan error, 1)
	go func() { closed <- closer.Close(ctx) }()
	err, returned := await(p.config.Clock, closed, shutdownGrace)
	if !returned {
		cancel()
		err, returned = await(p.config.Clock, closed, closeGrace)
	}
	if !returned {
		return fmt.Errorf("the driver's Close did not return %s after its context had ended", closeGrace)
	}
	return err
}

// drainCalls waits for the calls in progress, or aborts them.
func (p *plugin) drainCalls(idle <-chan struct{}) error {
	if _, ended := await(p.config.Clock, idle, shutdownGrace); !ended {
		p.driverServer.Stop()
		return fmt.Errorf("aborted calls that had not ended %s after the beginning of the shutdown", shutdownGrace)
	}
	// Send the remaining answers, which is fast if the callers read them.
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		p.driverServer.GracefulStop()
	}()
	if _, answered := await(p.config.Clock, sent, closeGrace); !answered {
		p.driverServer.Stop()
		<-sent
	}
	return nil
}

// await returns the result of an action in progress. ok is false if there is none after
// the limit.
func await[T any](c clock.Clock, done <-chan T, limit time.Duration) (result T, ok bool) {
	timer := c.NewTimer(limit)
	defer timer.Stop()
	select {
	case result = <-done:
		return result, true
	case <-timer.C():
		return result, false
	}
}
