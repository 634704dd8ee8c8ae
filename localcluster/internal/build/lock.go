// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/slipway-k8s/slipway/localcluster/internal/progress"
)

// lock holds other builders of the same product off, by a lock on the
// directory itself. The kernel releases it should this process die.
func lock(ctx context.Context, dir string, made product, report *progress.Reporter) (unlock func(), err error) {
	directory, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("lock the cache: %w", err)
	}
	const interval = 200 * time.Millisecond
	const remindEvery = 10 * time.Second
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var reminded time.Time
	for {
		err := syscall.Flock(int(directory.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = directory.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = directory.Close()
			return nil, fmt.Errorf("lock the cache %s: %w", dir, err)
		}
		if time.Since(reminded) > remindEvery {
			report.Step("waiting for another process that builds %s", made.name)
			reminded = time.Now()
		}
		select {
		case <-ctx.Done():
			_ = directory.Close()
			return nil, fmt.Errorf("wait for another process that builds %s: %w", made.name, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}
