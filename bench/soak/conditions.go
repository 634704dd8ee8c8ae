// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/bench/internal/proc"
)

// conditions are what the numbers depend on.
type conditions struct {
	Date    string `json:"date"`
	Slipway string `json:"slipway"`
	Go      string `json:"go"`
	// Kubernetes is the version of the control plane.
	Kubernetes string `json:"kubernetes,omitempty"`
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"`
	// MemoryMiB is the machine's.
	MemoryMiB int `json:"memoryMiB,omitempty"`
	// Load is the load average of the last minute, when it ended.
	Load string `json:"load"`
}

func describe(ctx context.Context) conditions {
	return conditions{
		Date: time.Now().UTC().Format(time.DateOnly), Slipway: revision(ctx), Go: runtime.Version(),
		CPU: proc.Model(), Cores: runtime.NumCPU(), MemoryMiB: proc.MemoryTotal(),
	}
}

// revision is the commit that was measured.
func revision(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty=, changed", "--abbrev=12").Output()
	if err != nil {
		return "of an unknown commit"
	}
	return strings.TrimSpace(string(out))
}
