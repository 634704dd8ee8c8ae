// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"k8s.io/utils/clock"

	"github.com/slipway-k8s/slipway/nodelease"
)

// runWithLease runs a command while the lease is held. Its exit code becomes ours.
func (t *tool) runWithLease(ctx context.Context, l leases, a *leaseAcquireFlags, holder string) error {
	program, err := exec.LookPath(a.command[0])
	if err != nil {
		return usage("there is no command %s: %w", a.command[0], err)
	}
	err = l.Keep(ctx, a.node, holder, a.purpose, a.duration, func(ctx context.Context) error {
		err := t.run(ctx, program, a.command)
		if errors.Is(context.Cause(ctx), nodelease.ErrLost) {
			return nil // that is why it was ended, and Keep says so
		}
		return err
	})
	if errors.Is(err, nodelease.ErrLost) {
		return fmt.Errorf("the command was ended: %w", err)
	}
	ended, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case !ok || isMore(err):
		return leaseTrouble(err)
	case ended.Exited():
		return exit{ended.ExitCode(), nil}
	case ctx.Err() != nil:
		return ctx.Err() // interrupted, and the command with it
	default:
		return fmt.Errorf("%s: %w", a.command[0], ended)
	}
}

// isMore: besides the command's end, something else is to be told.
func isMore(err error) bool {
	joined, ok := err.(interface{ Unwrap() []error })
	return ok && len(joined.Unwrap()) > 1
}

// run runs a command on the terminal until it ends. When ctx is done it is asked to end, and
// made to if the lease is lost: others begin soon.
func (t *tool) run(ctx context.Context, program string, command []string) error {
	c := exec.CommandContext(ctx, program)
	c.Args = command
	// Not ErrOut, which cleans what goes through it: the command knows what it prints.
	c.Stdin, c.Stdout, c.Stderr = t.In, t.Out, os.Stderr
	ended := make(chan struct{})
	var killing sync.WaitGroup
	defer killing.Wait()
	defer close(ended)
	c.Cancel = func() error {
		if cause := context.Cause(ctx); errors.Is(cause, nodelease.ErrLost) {
			fmt.Fprintf(t.ErrOut, "%v; %s has %s to end\n", cause, command[0], nodelease.Skew)
			killing.Go(func() { killAfter(t.clock.NewTimer(nodelease.Skew), ended, c.Process) })
		}
		return c.Process.Signal(syscall.SIGTERM)
	}
	return c.Run()
}

// killAfter kills a process at a time, unless it has ended.
func killAfter(at clock.Timer, ended <-chan struct{}, process *os.Process) {
	defer at.Stop()
	select {
	case <-at.C():
		_ = process.Kill() // it fails if it has just ended
	case <-ended:
	}
}
