// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-k8s/slipway/internal/devcluster"
)

// TestATenthOfIt is what make soak does, with a tenth of the nodes: all drains succeed and no
// promise is broken. The controller is built as it is released, since the race detector
// multiplies memory. It may take half of what the full soak allows, not a tenth: much of it
// is there at rest, whatever the number of nodes.
func TestATenthOfIt(t *testing.T) {
	root, err := devcluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	tenth := settings{
		nodes: full.nodes / 10, steps: []int{1, 10}, limit: full.limit / 2, rest: time.Second,
		controller: filepath.Join(t.TempDir(), "controller"),
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", tenth.controller, "./cmd/controller")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the controller: %v\n%s", err, out)
	}
	r, err := soak(t.Context(), tenth, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("it took %s at its peak", mib(r.PeakKiB))
	if err := r.held(); err != nil {
		t.Error(err)
	}
	var drained []int
	for _, s := range r.Steps {
		drained = append(drained, s.Nodes)
		if s.Evictions < s.Nodes*podsPerNode {
			t.Errorf("%d nodes were drained with %d evictions; want %d at least", s.Nodes, s.Evictions, s.Nodes*podsPerNode)
		}
	}
	if diff := cmp.Diff([]int{0, 1, 10}, drained); diff != "" {
		t.Errorf("nodes drained at once, step by step (-want +got):\n%s", diff)
	}
}

func TestTheTableSaysWhatWasMeasured(t *testing.T) {
	r := results{
		Nodes: 1000, Pods: 10000, LimitMiB: 300, PeakKiB: 100 << 10,
		Conditions: conditions{Date: "2026-01-02", Slipway: "abc", CPU: "a CPU", Cores: 2, Load: "1.00"},
		Steps: []step{
			{MostKiB: 50 << 10},
			{Nodes: 100, AtOnce: 98, Seconds: 12.34, MostKiB: 90 << 10, Requests: map[string]int{"watch": 2, "create": 12}, Evictions: 10, Refused: 1},
		},
	}
	want, err := os.ReadFile(filepath.Join("testdata", "table.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), r.markdown()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStepsNeedNodes(t *testing.T) {
	for steps, want := range map[string]bool{"1,10": true, "50,49": true, "50,50": false} {
		s := settings{nodes: 100}
		if err := s.setSteps(steps); err != nil {
			t.Errorf("%s: %v", steps, err)
		}
		if err := s.check(); (err == nil) != want {
			t.Errorf("%s of 100 nodes: %v", steps, err)
		}
	}
	for _, steps := range []string{"", "1,", "0", "-1", "many"} {
		if err := new(settings).setSteps(steps); err == nil {
			t.Errorf("%q was taken", steps)
		}
	}
}

func TestWhatDoesNotHoldIsAnError(t *testing.T) {
	for name, tc := range map[string]struct {
		r    results
		want bool
	}{
		"all holds":           {results{LimitMiB: 1, PeakKiB: 1024}, false},
		"too much memory":     {results{LimitMiB: 1, PeakKiB: 1025}, true},
		"a promise is broken": {results{LimitMiB: 1, Broken: []string{"a budget"}}, true},
	} {
		if err := tc.r.held(); (err != nil) != tc.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
