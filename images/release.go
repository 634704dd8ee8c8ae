// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// release defines an image. The digest depends only on it.
type release struct {
	// dir is the Go module that the programs are in.
	dir string
	// programs are names of folders in cmd. A container without a command runs the first.
	programs []string
	version  string
	revision string
	// created is a property of the commit, not of the build.
	created time.Time
}

// programs has the programs of the chart. The drain driver is built into the first two, so that nodes do not pull it
// a third time; pods of its own have the image of Dockerfile.
var programs = []string{"node-agent", "controller", "slipway-host"}

// releaseOf is the release that a repository would be.
func releaseOf(ctx context.Context, dir string) (release, error) {
	r := release{dir: dir, programs: programs}
	text, err := os.ReadFile(filepath.Join(dir, "charts", "slipway", "Chart.yaml"))
	if err != nil {
		return r, fmt.Errorf("find out the version: %w", err)
	}
	var chart struct {
		AppVersion string `json:"appVersion"`
	}
	if err := yaml.Unmarshal(text, &chart); err != nil {
		return r, fmt.Errorf("find out the version: %w", err)
	}
	r.version = chart.AppVersion

	commit, err := git(ctx, dir, "log", "-1", "--format=%H %ct")
	if err != nil {
		return r, err
	}
	revision, seconds, _ := strings.Cut(commit, " ")
	changes, err := git(ctx, dir, "status", "--porcelain")
	if err != nil {
		return r, err
	}
	if changes != "" {
		revision += "-dirty" // the commit alone does not give this image
	}
	epoch, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return r, fmt.Errorf("find out the time of the commit: %w", err)
	}
	r.revision, r.created = revision, time.Unix(epoch, 0).UTC()
	return r, nil
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = dir
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
