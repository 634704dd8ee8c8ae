// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-k8s/slipway/internal/node/shutdown"
)

func saysDelay(name, delay string) *corev1.Node {
	node := &corev1.Node{}
	node.Name = name
	if delay != "" {
		node.Annotations = map[string]string{shutdown.DelayAnnotation: delay}
	}
	return node
}

func TestMachinesThatHardlyWaitAreTold(t *testing.T) {
	nodes := []*corev1.Node{
		saysDelay("w2", "5s"), saysDelay("w1", "59s"), saysDelay("enough", "1m0s"), saysDelay("silent", ""), saysDelay("wrong", "soon"),
	}
	var many []*corev1.Node
	for i := range 7 {
		many = append(many, saysDelay(fmt.Sprintf("n%d", i), "5s"))
	}
	for name, tc := range map[string]struct {
		nodes []*corev1.Node
		named []string
		want  string
	}{
		"those that say so":         {nodes, nil, "  w1 (59s), w2 (5s)\n"},
		"of those that are named":   {nodes, []string{"w2", "enough"}, "  w2 (5s)\n"},
		"not all of many":           {many, nil, "  n0 (5s), n1 (5s), n2 (5s), n3 (5s), n4 (5s), and 2 more\n"},
		"none":                      {nodes[2:], nil, ""},
		"none of those named":       {nodes, []string{"enough"}, ""},
		"nodes that cannot be read": {nil, nil, ""},
	} {
		if got := shortDelays(tc.nodes, tc.named); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: it says %q, want %q", name, got, tc.want)
		}
	}
}
