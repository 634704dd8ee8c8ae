// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"errors"
	"fmt"
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
