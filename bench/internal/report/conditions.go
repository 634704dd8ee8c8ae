// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/bench/internal/meter"
)

// Conditions affect all numbers.
type Conditions struct {
	Date string `json:"date"`
	// Slipway is the commit.
	Slipway string `json:"slipway"`
	Go      string `json:"go"`
	// Kubernetes is the version of the control plane.
	Kubernetes string `json:"kubernetes,omitempty"`
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"`
	// MemoryMiB is the machine's.
	MemoryMiB int `json:"memoryMiB,omitempty"`
	// Load is the load average of the last minute.
	Load string `json:"load"`
}

// Now returns the conditions of this moment.
func Now(ctx context.Context) Conditions {
	machine := meter.ReadMachine()
	revision := "of an unknown commit"
	if out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--abbrev=12", "--dirty=, changed").Output(); err == nil {
		revision = strings.TrimSpace(string(out))
	}
	return Conditions{
		Date: time.Now().UTC().Format(time.DateOnly), Slipway: revision, Go: runtime.Version(),
		CPU: machine.CPU, Cores: runtime.NumCPU(), MemoryMiB: machine.MemoryMiB, Load: machine.Load,
	}
}

// Write writes results into a file, as JSON.
func Write(path string, results any) error {
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// Read reads results that Write has written.
func Read[T any](path string) (results T, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return results, err
	}
	if err := json.Unmarshal(text, &results); err != nil {
		return results, fmt.Errorf("read %s: %w", path, err)
	}
	return results, nil
}
