// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAFullDisk fills a file system, which takes root: nothing is taken away, it is said, and
// what is away comes back.
func TestAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=128k"); err != nil {
		t.Skipf("missing: a file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	s := newScene(t, dir, "a", "b")
	s.run(t, "kube-system/a-w1")
	s.wantAway("a.yaml")

	fill(t, filepath.Join(dir, ".rest"))
	said := s.run(t, "kube-system/a-w1", "kube-system/b-w1")
	s.wantAway("a.yaml")
	if len(said.Trouble) != 1 || !strings.Contains(said.Trouble[0].Message, "no space left on device") {
		t.Errorf("it says %+v", said)
	}
	s.run(t)
	s.wantAway()

	if err := os.Remove(filepath.Join(dir, ".rest")); err != nil {
		t.Fatal(err)
	}
	s.run(t, "kube-system/b-w1")
	s.wantAway("b.yaml")
}

// fill writes a file until nothing can be written any more.
func fill(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for {
		if _, err := file.Write(make([]byte, 1<<10)); errors.Is(err, unix.ENOSPC) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
