// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/slipway-k8s/slipway/localcluster/internal/layout"
)

// Lock keeps other launchers from changing the same cluster. It is on the
// directory itself, so no lock file is left when the directory goes.
type Lock struct {
	directory *os.File
}

// Acquire waits for the lock on an existing directory, until ctx is done.
func Acquire(ctx context.Context, dir layout.Dir) (*Lock, error) {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		lock, err := try(dir)
		if lock != nil || err != nil {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("another localcluster command is at work in %s: %w", dir, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// try returns nil and no error while somebody else holds the lock.
func try(dir layout.Dir) (*Lock, error) {
	directory, err := os.Open(string(dir))
	if err != nil {
		return nil, fmt.Errorf("lock the cluster's directory: %w", err)
	}
	err = syscall.Flock(int(directory.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil && stillThere(directory, dir) {
		return &Lock{directory: directory}, nil
	}
	_ = directory.Close()
	if err == nil || errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return nil, nil //nolint:nilnil // documented: not yet
	}
	return nil, fmt.Errorf("lock %s: %w", dir, err)
}

// stillThere tells the directory from one that its previous holder removed, and
// that perhaps was made anew since.
func stillThere(directory *os.File, dir layout.Dir) bool {
	locked, err := directory.Stat()
	if err != nil {
		return false
	}
	current, err := os.Stat(string(dir))
	return err == nil && os.SameFile(locked, current)
}

// Release lets the next one in.
func (l *Lock) Release() {
	_ = l.directory.Close() // closing is what unlocks; it cannot fail for a directory
}
