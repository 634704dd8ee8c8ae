// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/slipway-k8s/slipway/localcluster/internal/progress"
)

// Modes of files and directories that only their owner may read.
const (
	Private    = 0o600
	PrivateDir = 0o700
)

// Unfinished is the file that Replace writes before it takes the place of the one at path.
// It remains if its writer is killed.
func Unfinished(path string) string { return path + ".new" }

// Replace replaces the file at path: a reader sees the old content or the new, never a part.
// A path has one writer at a time.
func Replace(path string, content []byte) error {
	err := os.WriteFile(Unfinished(path), content, Private)
	if err == nil {
		err = os.Rename(Unfinished(path), path)
	}
	if err != nil {
		_ = os.Remove(Unfinished(path))
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

var (
	errLocked  = errors.New("another localcluster command works here")
	errRemoved = errors.New("its holder has removed it")
)

// Lock waits until no other process has the lock on a directory, or until ctx is done. The
// lock is on the directory itself, so no lock file remains; the kernel releases it when the
// process ends.
func Lock(ctx context.Context, dir string, report *progress.Reporter) (unlock func(), err error) {
	var held *os.File
	err = report.Await(ctx, 50*time.Millisecond, func(context.Context) (bool, error) {
		held, err = tryLock(dir)
		return held != nil || !errors.Is(err, errLocked) && !errors.Is(err, errRemoved), err
	})
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return func() { _ = held.Close() }, nil // closing unlocks; it cannot fail for a directory
}

func tryLock(dir string) (*os.File, error) {
	directory, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(directory.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		err = errLocked
	} else if err == nil && !isAt(directory, dir) {
		err = errRemoved
	}
	if err != nil {
		_ = directory.Close()
		return nil, err
	}
	return directory, nil
}

// isAt reports whether a directory is still at its path: the previous holder of the lock may have removed it, and
// another process may have made it again since.
func isAt(directory *os.File, path string) bool {
	locked, err := directory.Stat()
	if err != nil {
		return false
	}
	current, err := os.Stat(path)
	return err == nil && os.SameFile(locked, current)
}
