// SPDX-License-Identifier: Apache-2.0

package atomicfile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWriteReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, content := range []string{"a longer one", "short"} {
		if err := Write(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != content {
			t.Errorf("got %q, %v; want %q", got, err, content)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestFailedWriteLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "d")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, nil, 0o600); err == nil {
		t.Error("a directory was replaced by a file")
	}
	if left := Leftovers(path); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	want := filepath.Join(dir, ".f-123")
	for _, path := range []string{want, filepath.Join(dir, ".g-123"), filepath.Join(dir, "f")} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := Leftovers(filepath.Join(dir, "f")); len(got) != 1 || got[0] != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
