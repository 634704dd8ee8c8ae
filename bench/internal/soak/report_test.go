// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slipway-k8s/slipway/bench/internal/meter"
	"github.com/slipway-k8s/slipway/bench/internal/report"
)

var update = flag.Bool("update", false, "write the golden files anew")

// lawful are results that are on lines: 50 MiB and a sixteenth for each node at rest, 1 MiB for each
// drain, 2 heartbeats of 1 KiB a second for each node that nobody asked for.
func lawful() Results {
	rest := func(size int, memory, heartbeats float64) period {
		return period{
			Seconds: 10, MostKiB: int(memory * kib), Requests: map[string]int{},
			Used: &meter.Used{
				Seconds: 10, CPUSeconds: .1, Received: int64(10 * size), Writes: 10 * heartbeats, Connections: size,
				ComponentCPUSeconds: map[string]float64{"kube-apiserver": 10},
				WatchEvents:         map[string]float64{"nodes": 10 * heartbeats}, WatchBytes: map[string]float64{"nodes": 10 * heartbeats * kib},
				Watches: map[string]float64{"nodes": float64(3 * size)}, ServerLiveKiB: (100 + size) * kib, ServerGoroutines: 500 + 9*size,
			},
		}
	}
	drain := func(nodes int, heartbeats float64) step {
		many := float64(nodes)
		return step{
			Nodes: nodes, AtOnce: nodes, Evictions: 20 * nodes, Refused: 1,
			period: period{
				Seconds: 20, MostKiB: (112 + nodes) * kib, Requests: map[string]int{"create": 20 * nodes, "patch": 7 * nodes},
				Used: &meter.Used{
					Seconds: 20, CPUSeconds: .2 + .5*many, Received: 20000 + int64(100*kib*nodes), Sent: int64(10 * kib * nodes), Writes: 20*heartbeats + 100*many,
					ComponentCPUSeconds: map[string]float64{"kube-apiserver": 20 + 2*many, "etcd": many},
					WatchEvents:         map[string]float64{"nodes": 20 * heartbeats, "pods": 100 * many},
					WatchBytes:          map[string]float64{"nodes": 20 * heartbeats * kib, "pods": 100 * kib * many},
				},
			},
		}
	}
	last := atRest{1000, 20000, rest(1000, 112.5, 2)}
	return Results{
		Nodes: 1000, Pods: 20000, LimitMiB: 300, PeakKiB: 212 * kib,
		Conditions: report.Conditions{
			Date: "2026-01-02", Slipway: "abc", CPU: "a CPU", Cores: 2, MemoryMiB: 2000, Load: "1.00", Kubernetes: "v1.2.3", Go: "go1.99",
		},
		Rest:  []atRest{{100, 0, rest(100, 56.25, .2)}, {300, 0, rest(300, 68.75, .6)}, last},
		Steps: []step{{period: last.period}, drain(1, 2), drain(20, 2), drain(100, 2)},
		Agents: &fleet{
			Rest:  []atRest{{1, 20000, rest(1, 41, 2)}, {100, 20000, rest(100, 140, 2)}, {200, 20000, rest(200, 240, 2)}},
			Steps: []step{drain(1, 2), drain(129, 2)},
		},
	}
}

func TestGolden(t *testing.T) {
	for name, text := range map[string]string{"scale.md": lawful().Page()} {
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

// TestOfALawfulClusterTheProjectionIsTheLaw: what is on lines is projected to what they say.
func TestOfALawfulClusterTheProjectionIsTheLaw(t *testing.T) {
	r := lawful()
	got := map[string]float64{}
	for _, p := range r.project() {
		got[p.name] = p.of(cluster{5000, 150_000})
	}
	for name, want := range map[string]float64{
		"memory of the controller, at rest":                           50 + 5000./16,
		"memory of the controller, with 100 drains at once":           50 + 5000./16 + 100*1.5, // 30 pods on each node, not 20
		"received by the controller, at rest, without heartbeats":     5000,
		"and with heartbeats of kubelets, one in 5 min for each node": 5000 + 5000./300*1024,
		"each node drained once: requests of Slipway":                 5000 * (7 + 30),
		"and CPU of the controller":                                   .5 * 5000 * 1.5,
		"and CPU of the API server, all that it does":                 2 * 5000 * 1.5,
		"and writes to etcd, of all":                                  100 * 5000 * 1.5,
		"watches open at the API server, for the agents":              15000,
		"connections, for the agents":                                 5000,
		"memory alive in the API server, for the agents":              5000,
		"goroutines of the API server, for the agents":                45000,
	} {
		if has, ok := got[name]; !ok || math.Abs(has-want) > want*1e-6 {
			t.Errorf("%s: %g; want %g", name, has, want)
		}
	}
}

// TestNothingFallsWithMoreNodes: a line through chance may, and what it says of larger clusters would be less than nothing.
func TestNothingFallsWithMoreNodes(t *testing.T) {
	falling := newSeries(restCPU, []point{{X: 100, Y: 3}, {X: 300, Y: 1}})
	if p := byNodes("CPU", falling.rising()); p.of(cluster{5000, 0}) != 2 || p.formula != "2.0" {
		t.Errorf("%s: %g; want 2", p.formula, p.of(cluster{5000, 0}))
	}
	if p := byNodes("CPU", newSeries(restCPU, []point{{X: 0, Y: 1}, {X: 2, Y: 2}}).rising()); p.of(cluster{10, 0}) != 6 || p.formula != "1.0 + 0.5 · N" {
		t.Errorf("%s: %g; want 6", p.formula, p.of(cluster{10, 0}))
	}
}

// TestChanceIsNotProjected: of what goes up and down, nothing is said for larger clusters.
func TestChanceIsNotProjected(t *testing.T) {
	r := lawful()
	for i, memory := range []int{200, 90, 120} {
		r.Agents.Rest[i].Used.ServerLiveKiB = memory
	}
	for _, p := range r.projectAgents() {
		if p.name == "memory alive in the API server, for the agents" {
			t.Errorf("it is projected: %s", p.formula)
		}
	}
}

// TestResultsOfBefore: those of a version that measured less are shown as far as they go.
func TestResultsOfBefore(t *testing.T) {
	r := Results{Nodes: 1000, Pods: 10000, Steps: []step{{}, {Nodes: 1, period: period{MostKiB: 9}}}}
	if points := ofDrains(drainCPU, r.Steps, nil).points; len(points) != 0 {
		t.Errorf("CPU was not measured, and has points: %v", points)
	}
}

func TestResultsAreReadAsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "soak.json")
	if err := report.Write(path, lawful()); err != nil {
		t.Fatal(err)
	}
	got, err := report.Read[Results](path)
	if diff := cmp.Diff(lawful(), got, cmp.AllowUnexported(step{}, atRest{}, period{}), cmpopts.IgnoreUnexported(meter.Used{})); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
