// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestAKillAfterEachChange kills slipway-host before each change of the disk that it makes, on
// the way out and on the way back.
func TestAKillAfterEachChange(t *testing.T) {
	wanted := []string{"kube-system/a-w1", "kube-system/b-w1"}
	for _, way := range []struct {
		name   string
		before func(*scene)
		wanted []string
		away   []string
	}{
		{"out", func(*scene) {}, wanted, []string{"a.yaml", "b.yaml"}},
		{"back", func(s *scene) { s.run(t, wanted...) }, nil, nil},
	} {
		t.Run(way.name, func(t *testing.T) {
			const enough = 100
			whole := 0
			for n := range enough {
				s := newScene(t, t.TempDir(), "a", "b", "c")
				way.before(s)
				s.changes = n
				s.run(t, way.wanted...)
				s.wantKept()
				if now, done := s.wantKept(), len(way.away); len(now) == done && whole == 0 {
					whole = n
				}
				s.changes = -1
				s.run(t, way.wanted...)
				s.wantAway(way.away...)
				s.run(t)
				s.wantAway()
			}
			if whole < 5 {
				t.Errorf("%d changes were enough: there is nothing to kill", whole)
			}
		})
	}
}

// TestATornJournal kills slipway-host anywhere, and then cuts its journal off anywhere: all is
// found again.
func TestATornJournal(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			t.Fatal(err)
		}
		s := newScene(rt, dir, "a", "b", "c")
		wishes := rapid.SampledFrom([][]string{nil, {"kube-system/a-w1"}, {"kube-system/a-w1", "kube-system/b-w1"}, {"kube-system/c-w1"}})
		for range rapid.IntRange(1, 4).Draw(rt, "lives") {
			s.changes = rapid.IntRange(0, 30).Draw(rt, "changes")
			s.run(t, wishes.Draw(rt, "wished")...)
			s.wantKept()
			journal := filepath.Join(dir, awayName, journalName)
			if info, err := os.Stat(journal); err == nil && rapid.Bool().Draw(rt, "torn") {
				if err := os.Truncate(journal, rapid.Int64Range(0, info.Size()).Draw(rt, "bytes")); err != nil {
					rt.Fatal(err)
				}
			}
		}
		s.changes = -1
		s.run(t, "kube-system/a-w1")
		s.wantAway("a.yaml")
		s.run(t)
		s.wantAway()
	})
}

// TestAFileInThePlace: a rename onto another file does not happen, even where nobody has seen it
// coming.
func TestAFileInThePlace(t *testing.T) {
	s := newScene(t, t.TempDir(), "a")
	f := foldersIn(s.dir, nodeName)
	s.run(t, "kube-system/a-w1")
	away := s.written["a.yaml"]
	s.put("a.yaml", "another one")
	for name, move := range map[string]func(string) error{"put back": f.putBack, "take": f.take} {
		if err := move("a.yaml"); err == nil {
			t.Errorf("%s: it was moved onto another one", name)
		}
	}
	if got := s.files(f.away)["a.yaml"]; got != away {
		t.Errorf("what was away is %q now", got)
	}
	if got := s.files(s.dir)["a.yaml"]; got != "another one" {
		t.Errorf("what somebody has put there is %q now", got)
	}
}

// TestWhatIsDoneIsOnTheDisk: when the power goes, too, a manifest is not moved that the journal
// does not speak of.
func TestWhatIsDoneIsOnTheDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "manifests")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := newScene(t, dir, "a")
	journal := []string{
		"mkdir .slipway", "create .journal.new", "write .journal.new", "sync .journal.new", "replace .journal", "sync .slipway",
	}
	s.run(t, "kube-system/a-w1")
	want := slices.Concat(
		[]string{"mkdir .slipway", "sync manifests"}, journal[1:],
		[]string{"rename a.yaml", "sync .slipway", "sync manifests"}, journal,
	)
	if diff := cmp.Diff(want, s.did); diff != "" {
		t.Errorf("on the way out: %s", diff)
	}
	s.did = nil
	s.run(t)
	want = slices.Concat(journal, []string{"rename a.yaml", "sync manifests", "sync .slipway"}, journal)
	if diff := cmp.Diff(want, s.did); diff != "" {
		t.Errorf("on the way back: %s", diff)
	}
}
