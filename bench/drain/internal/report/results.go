// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/slipway-k8s/slipway/bench/drain/internal/measure"
)

// Results are all that a benchmark has found out.
type Results struct {
	Seed uint64 `json:"seed"`
	// Conditions are what the numbers depend on.
	Conditions Conditions `json:"conditions"`
	// Scenarios were run, in this order; Contenders as well.
	Scenarios  []Scenario    `json:"scenarios"`
	Contenders []string      `json:"contenders"`
	Runs       []measure.Run `json:"runs"`
}

// Scenario is what there is to say of one.
type Scenario struct {
	Key   string `json:"key"`
	Title string `json:"title"`
	// Blocked is how many seconds a drain that cannot end was watched. Zero: it can.
	Blocked float64 `json:"blocked,omitempty"`
	// Fleet is how many nodes were out at a time, where all were drained and returned.
	Fleet int `json:"fleet,omitempty"`
	// Occasion is when it was measured, which may be another time than that of others.
	Occasion Occasion `json:"occasion"`
}

// Occasion is one run of the benchmark's program.
type Occasion struct {
	// Date as in 2006-01-02.
	Date string `json:"date"`
	// Slipway is the commit.
	Slipway string `json:"slipway"`
	// Load is the load average when it began.
	Load string `json:"load"`
	// Repeat is how often each contender drained.
	Repeat int `json:"repeat"`
}

// Conditions of a benchmark: results under others cannot stand beside these.
type Conditions struct {
	Kubernetes string `json:"kubernetes"`
	Go         string `json:"go"`
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"`
	// Settings are further arguments of components of the control plane.
	Settings map[string][]string `json:"settings"`
	// KubectlFlags are what kubectl drained with.
	KubectlFlags []string `json:"kubectlFlags"`
}

// Write writes the results into a file.
func Write(path string, r Results) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// Read reads what Write has written.
func Read(path string) (Results, error) {
	var r Results
	text, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("read %s: %w", path, err)
	}
	return r, nil
}

// Broken are the promises that were broken, in all runs.
func (r Results) Broken() []string {
	var broken []string
	for _, run := range r.Runs {
		for _, what := range run.Broken {
			broken = append(broken, fmt.Sprintf("%s, repetition %d, %s: %s", run.Scenario, run.Repetition, run.Contender, what))
		}
	}
	return broken
}
