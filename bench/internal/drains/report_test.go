// SPDX-License-Identifier: Apache-2.0

package drains

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-k8s/slipway/bench/internal/report"
)

var update = flag.Bool("update", false, "write the golden files anew")

func run(scenario, contender string, repetition int, seconds float64, sent, refused int) Run {
	return Run{
		Scenario: scenario, Contender: contender, Repetition: repetition, Seconds: seconds,
		Evictions: Evictions{Sent: sent, Accepted: sent - refused, Refused: refused},
		Total:     4*sent + 1,
		Others:    3 * sent,
		Later:     sent,
		CPU:       CPU{Busy: .5, Seconds: map[string]float64{"etcd": 1, "kube-apiserver": 3}},
	}
}

func results() Results {
	first := report.Conditions{Date: "2026-11-21", Slipway: "abcdef", Load: "0.10", Kubernetes: "v1.2.3", Go: "go1.99", CPU: "Abacus & Sons", Cores: 2}
	second := first
	second.Date, second.Slipway, second.Load = "2026-11-22", "fedcba", "0.20"
	return Results{
		Seed: 7,
		Scenarios: []Measured{
			{Key: "b", Title: "20 pods, a budget", Repeat: 3, Conditions: first},
			{Key: "d", Title: "100 pods <of> 300", Repeat: 1, Conditions: second},
			{Key: "f", Title: "1 pod that cannot go, for 60 s", Blocked: 60, Repeat: 1, Conditions: second},
		},
		Contenders: []string{"kubectl", "ideal", "slipway"},
		Runs: []Run{
			run("b", "kubectl", 1, 40, 70, 50), run("b", "ideal", 1, 10, 20, 0), run("b", "slipway", 1, 11, 21, 1),
			run("b", "slipway", 2, 10.4, 20, 0), run("b", "kubectl", 2, 38, 71, 51), run("b", "ideal", 2, 10, 22, 2),
			run("b", "ideal", 3, 12, 20, 0), run("b", "slipway", 3, 12, 20, 0), run("b", "kubectl", 3, 44, 90, 70),
			run("d", "slipway", 1, 9, 100, 0),
			run("f", "kubectl", 1, 60, 12, 12), run("f", "slipway", 1, 60, 0, 0),
		},
	}
}

func TestGolden(t *testing.T) {
	for name, text := range map[string]string{"table.md": results().Markdown(), "compare.md": comparison().Markdown()} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), text); diff != "" {
				t.Errorf("go test -update writes it anew (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResultsAreReadAsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	if err := report.Write(path, results()); err != nil {
		t.Fatal(err)
	}
	got, err := report.Read[Results](path)
	if diff := cmp.Diff(results(), got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestSummaries(t *testing.T) {
	of := results().of("b")
	if len(of) != 3 {
		t.Fatalf("%d summaries; want 3", len(of))
	}
	s := of[Slipway]
	if s.wall != 11 || s.min != 10.4 || s.max != 12 || s.fasterThanKubectl != 40.0/11 || s.ofIdeal != 1.1 || s.sent != 20 || s.refused != 0 {
		t.Errorf("Slipway's summary: %+v", s)
	}
	if alone := results().of("d"); len(alone) != 1 || alone[Slipway].fasterThanKubectl != 0 || alone[Slipway].ofIdeal != 0 {
		t.Errorf("without others to compare with: %+v", alone)
	}
}

func TestViolationsAreReported(t *testing.T) {
	r := results()
	r.Runs[2].Broken = []string{"evicted a mirror pod"}
	want := []string{"b by slipway, repetition 1: evicted a mirror pod"}
	if diff := cmp.Diff(want, r.Violations()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAFleetIsComparedWithWhatHasToBeDoneForIt(t *testing.T) {
	r := results()
	fleet := run("i", "slipway", 1, 20, 100, 0)
	fleet.Bound, fleet.CPU.Seconds = 10, map[string]float64{"etcd": 8, "kube-apiserver": 24}
	r.Scenarios, r.Runs = append(r.Scenarios, Measured{Key: "i", Fleet: 10}), append(r.Runs, fleet)
	want := "(i) Slipway took 2.00 times what the budgets need until each pod has left its node once, " +
		"and 1.25 times what the control plane's work for it takes if all 2 cores only do that.\n"
	if got := r.Markdown(); !strings.Contains(got, want) {
		t.Errorf("it does not say %q:\n%s", want, got)
	}
}
