// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// SLIPWAY_IMAGE is the directory that make image has built into. make image-check sets it.
func realImage(t *testing.T) string {
	t.Helper()
	out := os.Getenv("SLIPWAY_IMAGE")
	if out == "" {
		t.Skip("SLIPWAY_IMAGE is not set: make image-check sets it")
	}
	return out
}

func TestTheImageOfSlipway(t *testing.T) {
	inspect(t, realImage(t), programs...)
}

func TestTheProgramsOfSlipwayStartWithNothingElse(t *testing.T) {
	out := realImage(t)
	for _, program := range programs {
		if help := jail(t, out, program, "--help"); !strings.Contains(help, "Usage:\n  "+program+" [flags]") {
			t.Errorf("%s --help:\n%s", program, help)
		}
	}
}

// The chart runs programs by their path in the image.
func TestTheChartRunsWhatIsInTheImage(t *testing.T) {
	templates, err := filepath.Glob("../charts/slipway/templates/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var run []string
	for _, path := range templates {
		for _, match := range regexp.MustCompile(`command: \[/([a-z-]+)\]`).FindAllStringSubmatch(read(t, path), -1) {
			run = append(run, match[1])
		}
	}
	want := slices.Sorted(slices.Values(programs))
	if got := slices.Sorted(slices.Values(run)); !slices.Equal(got, want) {
		t.Errorf("the chart runs %v, in the image there are %v", got, want)
	}
}

func TestAReleaseIsOfItsCommit(t *testing.T) {
	r, err := releaseOf(t.Context(), "..")
	if err != nil {
		t.Fatal(err)
	}
	if r.version == "" || r.created.Unix() == 0 || !regexp.MustCompile(`^[0-9a-f]{40}(-dirty)?$`).MatchString(r.revision) {
		t.Errorf("version %q, revision %q, created %v", r.version, r.revision, r.created)
	}
}
