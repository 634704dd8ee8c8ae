// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

const pollInterval = 20 * time.Millisecond

// Signal sends a signal to exactly this process. A process that is gone is no
// error.
func (i Identity) Signal(signal os.Signal) error {
	// FindProcess holds on to the process by a descriptor (pidfd), so what was
	// recognised by Alive is what the signal reaches, even if it ends between.
	found, err := os.FindProcess(i.PID)
	if err != nil {
		return fmt.Errorf("find process %d: %w", i.PID, err)
	}
	defer func() { _ = found.Release() }()
	if !i.Alive() {
		return nil
	}
	if err := found.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %s to process %d: %w", signal, i.PID, err)
	}
	return nil
}

// Stop ends the process: SIGTERM, then SIGKILL when it has not ended within the
// grace period or when ctx is done. It returns when the process is gone.
func Stop(ctx context.Context, process Identity, grace time.Duration) error {
	if err := process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	polite, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if awaitEnd(polite, process) == nil {
		return nil
	}
	return Kill(process)
}

// Kill ends the process at once and returns when it is gone.
func Kill(process Identity) error {
	if err := process.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	// Not bound to the caller's context: a killed process goes, or the kernel is
	// stuck, and then somebody should hear of it.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := awaitEnd(ctx, process); err != nil {
		return fmt.Errorf("process %d is still there after SIGKILL: %w", process.PID, err)
	}
	return nil
}

func awaitEnd(ctx context.Context, process Identity) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for process.Alive() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return nil
}
