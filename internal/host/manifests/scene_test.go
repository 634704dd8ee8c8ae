// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/slipway-k8s/slipway/internal/node/staticpod"
	"github.com/slipway-k8s/slipway/internal/platform/health"
)

const nodeName = "W1"

var errCrash = errors.New("crash")

// fataler is a test, or one of its cases.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// scene is a kubelet's folder, and what was written into it.
type scene struct {
	t       fataler
	dir     string
	written map[string]string
	// changes is how many the disk makes before slipway-host is killed; negative: without end.
	changes int
	// did are the changes that were made.
	did []string
}

func newScene(t fataler, dir string, names ...string) *scene {
	t.Helper()
	s := &scene{t: t, dir: dir, written: map[string]string{}, changes: -1}
	for _, name := range names {
		s.put(name+".yaml", manifest(name))
	}
	return s
}

func manifest(name string) string {
	return fmt.Sprintf("# of %[1]s\napiVersion: v1\nkind: Pod\nmetadata:\n  name: %[1]s\n  namespace: kube-system\n", name)
}

func (s *scene) put(file, content string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, file), []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.written[file] = content
}

// run is slipway-host from its start until there is nothing to do, or it is killed. It returns
// what it would say.
func (s *scene) run(t *testing.T, wanted ...string) (said staticpod.Report) {
	t.Helper()
	m := New(Options{NodeName: nodeName, Dir: s.dir}, nil, nil, health.New(clock.RealClock{}), clock.RealClock{})
	left := s.changes
	m.folders.disk.flush = func(*os.File) error { return nil } // who is killed loses nothing by that
	m.folders.disk.before = func(what string) error {
		if left == 0 {
			return errCrash
		}
		left--
		s.did = append(s.did, what)
		return nil
	}
	for range 100 {
		facts, err := m.folders.read()
		if err != nil {
			s.t.Fatal(err)
		}
		facts.Asked, facts.Wanted, facts.Failed = true, wanted, m.failed
		step := staticpod.Next(facts)
		if say, says := step.(staticpod.Publish); says {
			return say.Report
		}
		if step == nil || left == 0 {
			return said
		}
		if err := m.perform(t.Context(), step); err != nil {
			s.t.Fatal(err)
		}
	}
	s.t.Fatal("it does not come to an end")
	return said
}

// files are those of a folder that a kubelet would look at.
func (s *scene) files(folder string) map[string]string {
	s.t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			s.t.Fatal(err)
		}
		all[e.Name()] = string(content)
	}
	return all
}

// wantAway wants all files as they were written, each in one place, and these away.
func (s *scene) wantAway(names ...string) {
	s.t.Helper()
	away := s.wantKept()
	if got := slices.Sorted(maps.Keys(away)); !slices.Equal(got, names) {
		s.t.Fatalf("away are %q, want %q", got, names)
	}
}

// wantKept wants all files as they were written, each in one place, and returns those away.
func (s *scene) wantKept() (away map[string]string) {
	s.t.Helper()
	all := s.files(s.dir)
	away = s.files(filepath.Join(s.dir, awayName))
	for file, content := range away {
		if _, twice := all[file]; twice {
			s.t.Fatalf("%s is in two places", file)
		}
		all[file] = content
	}
	if diff := cmp.Diff(s.written, all); diff != "" {
		s.t.Fatalf("the files are not what was written: %s", diff)
	}
	return away
}
