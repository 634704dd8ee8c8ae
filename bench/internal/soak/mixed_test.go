// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-k8s/slipway/bench/internal/meter"
	"github.com/slipway-k8s/slipway/bench/internal/report"
	"github.com/slipway-k8s/slipway/bench/internal/testbed"
	"github.com/slipway-k8s/slipway/internal/devcluster"
)

// TestMixedLoadForAMoment is what make soak does for an hour: all that is asked for comes to its end, and no
// promise is broken. What is alive in so short a time says nothing of leaks.
func TestMixedLoadForAMoment(t *testing.T) {
	s := MixedSettings{For: 15 * time.Second, Settle: time.Second, Seed: 1, Bin: built(t, "controller")}
	r, err := Mixed(t.Context(), s, testbed.NewProgress(t.Output()))
	if err != nil {
		t.Fatal(err)
	}
	for _, broken := range r.Broken {
		t.Error(broken)
	}
	for _, what := range []string{"drains and returns", "EvictionRequests"} {
		if r.Done[what] == 0 {
			t.Errorf("nothing was done of %s: %v", what, r.Done)
		}
	}
	if r.Start.Goroutines == 0 || r.End.LiveKiB == 0 {
		t.Errorf("the controller was not looked at: %+v, %+v", r.Start, r.End)
	}
}

// built returns a directory with a program of the repository's.
func built(t *testing.T, name string) string {
	t.Helper()
	root, err := devcluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, name), "./cmd/"+name)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the %s: %v\n%s", name, err, out)
	}
	return dir
}

// TestBudgetsOfSmallAppsLetPodsGo: the workload of few nodes comes to a state that can be waited for, and its budgets
// hold up drains.
func TestBudgetsOfSmallAppsLetPodsGo(t *testing.T) {
	for nodes, want := range map[int]int{mixedNodes: 1, 100: 4, 1000: 4} {
		for _, a := range apps(make([]string, nodes), 1) {
			if got := a.MaxUnavailable; a.Budget != "" && (got > len(a.Nodes) || got < want) {
				t.Errorf("of %d pods, with %d nodes, %d may be unavailable; want %d at least", len(a.Nodes), nodes, got, want)
			}
		}
	}
}

func mixedSample() MixedResults {
	return MixedResults{
		Conditions: report.Conditions{Date: "2026-01-02", Slipway: "abc", CPU: "a CPU", Cores: 2, Load: "1.00"}, Kubernetes: "v1.2.3",
		Nodes: 32, Pods: 320, Minutes: 60, Seed: 7, Done: map[string]int{"maintenances": 9, "drains and returns": 400},
		Start: look{Minute: 6, RSSKiB: 90 * kib, Self: meter.Self{LiveKiB: 20 * kib, Goroutines: 300}, CPUSeconds: 20},
		End:   look{Minute: 66, RSSKiB: 95 * kib, Self: meter.Self{LiveKiB: 21 * kib, Goroutines: 301}, CPUSeconds: 200},
	}
}

func TestThePageSaysWhatWasDone(t *testing.T) {
	path := filepath.Join("testdata", "mixed.md")
	got := mixedSample().Markdown()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("go test -update writes it anew (-want +got):\n%s", diff)
	}
}

func TestGrowthIsAnError(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*MixedResults)
		held   bool
	}{
		"as it was":                {func(*MixedResults) {}, true},
		"ten goroutines more":      {func(r *MixedResults) { r.End.Goroutines = 310 }, true},
		"eleven goroutines more":   {func(r *MixedResults) { r.End.Goroutines = 311 }, false},
		"a quarter more memory":    {func(r *MixedResults) { r.End.LiveKiB = 25 * kib }, true},
		"more than that":           {func(r *MixedResults) { r.End.LiveKiB = 25*kib + 1 }, false},
		"an invariant is violated": {func(r *MixedResults) { r.Broken = []string{"a budget"} }, false},
	} {
		r := mixedSample()
		tc.change(&r)
		if err := r.Held(); (err == nil) != tc.held {
			t.Errorf("%s: %v", name, err)
		}
	}
}
