// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// closeGrace is how long a Close that was told to give up may take to return.
const closeGrace = time.Second

// stop ends in an order that loses nothing: nobody new comes, the work ends, those
// who are waiting get an answer, the door closes.
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

// drainCalls lets the calls that are going on end, or cuts them off.
func (p *plugin) drainCalls(idle <-chan struct{}) error {
	timer := p.config.Clock.NewTimer(shutdownGrace)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C():
		p.driverServer.Stop()
		return fmt.Errorf("calls were cut off: they had not ended %s after the shutdown began", shutdownGrace)
	}
	// The answers still have to be sent, which takes no time if they are read.
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
