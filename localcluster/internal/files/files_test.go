// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestReplaceIsPrivateAndWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, content := range []string{"the first, which is longer", "the second"} {
		if err := Replace(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("got %q, %v", got, err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
}

func TestAFailedReplaceLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Replace(path, nil); err == nil {
		t.Error("a directory was replaced by a file")
	}
	if _, err := os.Stat(Unfinished(path)); !os.IsNotExist(err) {
		t.Errorf("the unfinished file is left: %v", err)
	}
}

func TestLockHoldsOthersOff(t *testing.T) {
	dir := t.TempDir()
	first, err := Lock(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 120*time.Millisecond)
	defer cancel()
	if _, err := Lock(ctx, dir, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a second lock: %v, want to wait in vain", err)
	}
	first()
	second, err := Lock(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	second()
}

// Down removes the directory while others wait for its lock. A lock on what is
// no longer there would keep nobody off.
func TestLockIsOnTheDirectoryThatIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	old, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = old.Close() }()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if isAt(old, path) {
		t.Error("the removed directory counts as the new one")
	}
}
