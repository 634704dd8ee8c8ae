// SPDX-License-Identifier: Apache-2.0

// Package child has a program that is measured as a process, and hears of its end: who waits for
// what a process does that has ended would wait for ever.
package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// Process is a program that runs, or has ended.
type Process struct {
	name    string
	command *exec.Cmd
	gone    chan struct{} // closed when it has ended
	why     error
}

// Start starts a command. Its process ends with this one at the latest. The name is for errors, as in
// "the controller".
func Start(name string, command *exec.Cmd) (*Process, error) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &Process{name: name, command: command, gone: make(chan struct{})}
	go func() {
		defer close(p.gone)
		p.why = command.Wait()
	}()
	return p, nil
}

// PID is its process id.
func (p *Process) PID() int { return p.command.Process.Pid }

// Ended is nil while it runs, and then says how it ended.
func (p *Process) Ended() error {
	select {
	case <-p.gone:
		return fmt.Errorf("%s has ended: %w", p.name, errors.Join(p.why, io.ErrUnexpectedEOF))
	default:
		return nil
	}
}

// While is a context that ends with the process, and has [Process.Ended] as its cause then.
func (p *Process) While(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-p.gone:
			cancel(p.Ended())
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// Kill ends it at once, if it has not ended.
func (p *Process) Kill() error {
	err := p.command.Process.Kill()
	<-p.gone
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}
