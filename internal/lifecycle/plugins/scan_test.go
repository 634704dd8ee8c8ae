// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScan(t *testing.T) {
	dir := tempDir(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"a.sock", ".hidden.sock", "sub/b.sock", "sub/deep/c.sock", ".dir/d.sock"} {
		listenAt(t, at(name))
	}
	if err := os.WriteFile(at("file.sock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(at("a.sock"), at("link.sock")); err != nil {
		t.Fatal(err)
	}

	var visited []string
	found, err := scan(dir, func(dir string) { visited = append(visited, dir) })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{at("a.sock"), at("sub/b.sock")}, slices.Sorted(maps.Keys(found))); diff != "" {
		t.Errorf("sockets (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{dir, at("sub")}, visited); diff != "" {
		t.Errorf("directories (-want +got):\n%s", diff)
	}

	t.Run("a socket that was made anew is another one", func(t *testing.T) {
		remove(t, at("a.sock"))
		listenAt(t, at("a.sock"))
		again, err := scan(dir, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		if again[at("a.sock")] == found[at("a.sock")] {
			t.Error("it has the same identity")
		}
		if again[at("sub/b.sock")] != found[at("sub/b.sock")] {
			t.Error("the one that was left alone has another identity")
		}
	})
	t.Run("a directory that is not there", func(t *testing.T) {
		if _, err := scan(at("no"), func(string) {}); err == nil {
			t.Error("no error: all sockets would be taken for gone")
		}
	})
}
