// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// tiny is a release that is built in seconds.
func tiny(dir string) release {
	return release{
		dir: dir, programs: []string{"tiny", "other"}, version: "1.2.3", revision: "abc",
		created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

func buildTiny(t *testing.T) string {
	t.Helper()
	out := t.TempDir()
	mustBuild(t, tiny("testdata/tiny"), out)
	return out
}

func mustBuild(t *testing.T, r release, out string) v1.Hash {
	t.Helper()
	digest, err := build(t.Context(), r, out)
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func TestAnImageHoldsItsProgramsAndNothingElse(t *testing.T) {
	inspect(t, buildTiny(t), "tiny", "other")
}

// The second build is in another directory, by somebody who has other habits, and nothing is
// taken from a cache of the first.
func TestTwoBuildsGiveTheSameDigest(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	want := mustBuild(t, tiny("testdata/tiny"), first)

	elsewhere := filepath.Join(t.TempDir(), "else", "where")
	if err := os.CopyFS(elsewhere, os.DirFS("testdata/tiny")); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"GOCACHE": t.TempDir(), "GOFLAGS": "-tags=other -v", "CGO_ENABLED": "1", "GOAMD64": "v3", "TZ": "Asia/Tokyo", "USER": "other",
	} {
		t.Setenv(name, value)
	}
	if got := mustBuild(t, tiny(elsewhere), second); got != want {
		t.Errorf("built again, the digest is %s, and was %s", got, want)
	}
	for _, arch := range architectures {
		if diff := cmp.Diff(read(t, sbomFile(first, arch)), read(t, sbomFile(second, arch))); diff != "" {
			t.Errorf("built again, the list of modules is another (-first +second):\n%s", diff)
		}
	}
}

// What is left of an older build is not pushed.
func TestABuildReplacesTheOneBefore(t *testing.T) {
	out := buildTiny(t)
	r := tiny("testdata/tiny")
	r.programs = []string{"other"}
	mustBuild(t, r, out)
	inspect(t, out, "other")
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
