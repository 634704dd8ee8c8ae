// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-k8s/slipway/bench/internal/report"
	"github.com/slipway-k8s/slipway/bench/internal/testbed"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	if !AreAgents() {
		os.Exit(m.Run())
	}
	if err := RunAgents(context.Background(), os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestATenthOfIt is what make soak does, with a tenth of the nodes: all drains succeed and no
// promise is broken. The controller is built as it is released, since the race detector
// multiplies memory. It may take half of what the full soak allows, not a tenth: much of it
// is there at rest, whatever the number of nodes.
func TestATenthOfIt(t *testing.T) {
	full := Full()
	tenth := Settings{
		Nodes: full.Nodes / 10, PodsPerNode: full.PodsPerNode / 2, Sizes: []int{full.Nodes / 20}, Steps: []int{1, 10},
		Agents: []int{1, 5}, AgentSteps: []int{1, 3},
		Limit: full.Limit / 2, Rest: time.Second,
		Bin: built(t, "controller"),
	}
	r, err := Scale(t.Context(), tenth, testbed.NewProgress(t.Output()))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("it took %s at its peak", report.MiB(r.PeakKiB))
	if err := r.Held(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]int{0, 1, 10}, drainedIn(t, r.Steps, tenth.PodsPerNode)); diff != "" {
		t.Errorf("nodes drained at once, step by step (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{1, 3}, drainedIn(t, r.Agents.Steps, tenth.PodsPerNode)); diff != "" {
		t.Errorf("nodes drained at once by agents, step by step (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{50, 100}, sizesOf(t, r.Rest)); diff != "" {
		t.Errorf("nodes with a controller at rest (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{1, 5}, sizesOf(t, r.Agents.Rest)); diff != "" {
		t.Errorf("agents at rest (-want +got):\n%s", diff)
	}
	connections := r.Agents.Rest[1].Used.Connections
	if connections < 5 {
		t.Errorf("5 agents have %d connections: they share some, as agents on nodes do not", connections)
	}
}

// drainedIn are the numbers of nodes, each drained as it should be.
func drainedIn(t *testing.T, steps []step, podsPerNode int) (nodes []int) {
	t.Helper()
	for _, s := range steps {
		nodes = append(nodes, s.Nodes)
		if s.Evictions < s.Nodes*podsPerNode {
			t.Errorf("%d nodes were drained with %d evictions; want %d at least", s.Nodes, s.Evictions, s.Nodes*podsPerNode)
		}
		if s.Nodes > 0 && (s.Used.Received == 0 || s.Used.Writes == 0 || s.Used.WatchBytes["pods"] == 0) {
			t.Errorf("%d nodes were drained, and it seems that nothing was used: %+v", s.Nodes, s.Used)
		}
	}
	return nodes
}

func sizesOf(t *testing.T, all []atRest) (sizes []int) {
	t.Helper()
	for _, r := range all {
		sizes = append(sizes, r.Size)
		if r.MostKiB == 0 || len(r.Used.ComponentCPUSeconds) == 0 || len(r.Used.Watches) == 0 {
			t.Errorf("%d at rest, and nothing is known of it: %+v", r.Size, r)
		}
	}
	return sizes
}

func TestTheTableSaysWhatWasMeasured(t *testing.T) {
	r := Results{
		Nodes: 1000, Pods: 10000, LimitMiB: 300, PeakKiB: 100 << 10,
		Conditions: report.Conditions{Date: "2026-01-02", Slipway: "abc", CPU: "a CPU", Cores: 2, Load: "1.00"},
		Steps: []step{
			{period: period{MostKiB: 50 << 10}},
			{
				Nodes: 100, AtOnce: 98, Evictions: 10, Refused: 1,
				period: period{Seconds: 12.34, MostKiB: 90 << 10, Requests: map[string]int{"watch": 2, "create": 12}},
			},
		},
	}
	want, err := os.ReadFile(filepath.Join("testdata", "table.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), r.Short()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStepsNeedNodes(t *testing.T) {
	for name, tc := range map[string]struct {
		s    Settings
		want bool
	}{
		"enough":                         {Settings{Nodes: 100, PodsPerNode: 1, Steps: []int{1, 10}, Agents: []int{5, 20}, AgentSteps: []int{20}}, true},
		"one node is left":               {Settings{Nodes: 100, PodsPerNode: 1, Steps: []int{50, 49}}, true},
		"no node is left":                {Settings{Nodes: 100, PodsPerNode: 1, Steps: []int{50, 50}}, false},
		"none is left for the agents":    {Settings{Nodes: 100, PodsPerNode: 1, Steps: []int{50}, Agents: []int{50}}, false},
		"more drains than agents":        {Settings{Nodes: 100, PodsPerNode: 1, Agents: []int{5}, AgentSteps: []int{5, 1}}, false},
		"agents are not taken away":      {Settings{Nodes: 100, PodsPerNode: 1, Agents: []int{5, 1}}, false},
		"nodes are not taken away":       {Settings{Nodes: 100, PodsPerNode: 1, Sizes: []int{200}}, false},
		"nodes without pods are no load": {Settings{Nodes: 100}, false},
	} {
		if err := tc.s.check(); (err == nil) != tc.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatDoesNotHoldIsAnError(t *testing.T) {
	for name, tc := range map[string]struct {
		r    Results
		want bool
	}{
		"all holds":                {Results{LimitMiB: 1, PeakKiB: 1024}, false},
		"too much memory":          {Results{LimitMiB: 1, PeakKiB: 1025}, true},
		"an invariant is violated": {Results{LimitMiB: 1, Broken: []string{"a budget"}}, true},
	} {
		if err := tc.r.Held(); (err != nil) != tc.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
