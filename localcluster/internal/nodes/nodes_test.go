// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"slices"
	"testing"

	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

func TestSimulatedNodesAreSpreadAndDistinct(t *testing.T) {
	config := state.Config{Nodes: 1000, NodeNamePrefix: "worker-"}
	perZone, addresses := map[string]int{}, map[string]bool{}
	for number := range config.Nodes {
		made := simulated(config, number)
		perZone[made.Metadata.Labels["topology.kubernetes.io/zone"]]++
		addresses[made.Status.Addresses[1].Address] = true
	}
	if len(perZone) != len(zones) || perZone["zone-a"] != 334 || perZone["zone-c"] != 333 {
		t.Errorf("nodes per zone: %v", perZone)
	}
	if len(addresses) != config.Nodes {
		t.Errorf("%d addresses for %d nodes", len(addresses), config.Nodes)
	}
}

func TestNames(t *testing.T) {
	got := Names(state.Config{Nodes: 3, NodeNamePrefix: "w"})
	if !slices.Equal(got, []string{"w1", "w2", "w3"}) {
		t.Errorf("got %v", got)
	}
}

func TestReady(t *testing.T) {
	ready := []condition{{Type: "MemoryPressure", Status: "False"}, {Type: "Ready", Status: "True"}}
	cases := map[string]struct {
		node node
		want bool
	}{
		"the kubelet says so":                {node{Status: status{Conditions: ready}}, true},
		"nobody has said anything":           {node{}, false},
		"the kubelet says no":                {node{Status: status{Conditions: []condition{{"Ready", "False"}}}}, false},
		"no pod is scheduled there yet":      {node{Spec: spec{Taints: []taint{{notReadyTaint}}}, Status: status{Conditions: ready}}, false},
		"cordoned by somebody, and yet well": {node{Spec: spec{Taints: []taint{{"node.kubernetes.io/unschedulable"}}}, Status: status{Conditions: ready}}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := isReady(tc.node); got != tc.want {
				t.Errorf("ready: %t, want %t", got, tc.want)
			}
		})
	}
}
