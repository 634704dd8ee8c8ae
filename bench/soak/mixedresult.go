// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/bench/internal/meter"
)

// mixedResults are what hours of mixed load have shown.
type mixedResults struct {
	Conditions conditions `json:"conditions"`
	Kubernetes string     `json:"kubernetes"`
	Nodes      int        `json:"nodes"`
	Pods       int        `json:"pods"`
	Minutes    float64    `json:"minutes"`
	Seed       uint64     `json:"seed"`
	// Done is how often each thing was done.
	Done map[string]int `json:"done"`
	// Start is the controller at rest after half of the time, End the same at the end, and Looks both, with what
	// was seen between them.
	Start look   `json:"start"`
	End   look   `json:"end"`
	Looks []look `json:"looks"`
	// Broken are promises that the audit log shows to be broken.
	Broken []string `json:"broken,omitempty"`
}

// look is the controller at a moment.
type look struct {
	Minute float64 `json:"minute"`
	RSSKiB int     `json:"rssKiB"`
	meter.Self
	CPUSeconds float64 `json:"cpuSeconds"`
}

// What the controller may have more at the end than at the start: some goroutines of connections and timers, and of
// its heap, what is remembered for a while.
const (
	moreGoroutines = 10
	moreLivePart   = 4 // a quarter of it
)

// held says what did not hold.
func (r mixedResults) held() error {
	var errs []error
	if grown := r.End.Goroutines - r.Start.Goroutines; grown > moreGoroutines {
		errs = append(errs, fmt.Errorf("the controller had %d goroutines at rest, and %d at the end: it leaks them", r.Start.Goroutines, r.End.Goroutines))
	}
	if r.End.LiveKiB > r.Start.LiveKiB+r.Start.LiveKiB/moreLivePart {
		errs = append(errs, fmt.Errorf("%s of the controller's heap were alive at rest, and %s at the end: it leaks memory", mib(r.Start.LiveKiB), mib(r.End.LiveKiB)))
	}
	if len(r.Broken) > 0 {
		errs = append(errs, fmt.Errorf("promises were broken:\n%s", strings.Join(r.Broken, "\n")))
	}
	return errors.Join(errs...)
}

func (r mixedResults) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// markdown is for a page: what was done, and the controller before and after.
func (r mixedResults) markdown() string {
	var b strings.Builder
	var done []string
	for _, what := range slices.Sorted(maps.Keys(r.Done)) {
		done = append(done, fmt.Sprintf("%d %s", r.Done[what], what))
	}
	fmt.Fprintf(&b, "In %.0f min, one controller for %d nodes with %d pods has done: %s.\n\n", r.Minutes, r.Nodes, r.Pods, strings.Join(done, ", "))
	header(&b, []string{"the controller at rest", "live heap", "memory", "goroutines", "CPU time so far"})
	for _, at := range []struct {
		when string
		look
	}{{"after half of the time", r.Start}, {"at the end", r.End}} {
		row(&b, []string{at.when, fmt.Sprintf("%.1f MiB", float64(at.LiveKiB)/kib), mib(at.RSSKiB), fmt.Sprint(at.Goroutines), fmt.Sprintf("%.0f s", at.CPUSeconds)})
	}
	kept := "No promise was broken"
	if len(r.Broken) > 0 {
		kept = fmt.Sprintf("%d promises were broken", len(r.Broken))
	}
	c := r.Conditions
	fmt.Fprintf(&b, "\n%s, by the audit log. Measured once, on %s, at commit %s, with seed %d: Kubernetes %s, %d cores of %s (load %s when it ended).\n",
		kept, c.Date, c.Slipway, r.Seed, r.Kubernetes, c.Cores, c.CPU, c.Load)
	return b.String()
}
