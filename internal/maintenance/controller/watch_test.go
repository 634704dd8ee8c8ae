// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestANodeThatSaysThatItIsAliveAsksForNoPass(t *testing.T) {
	node := func(change func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{}
		n.Labels, n.Annotations = map[string]string{"a": "b"}, map[string]string{"c": "d"}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		change(n)
		return n
	}
	for name, tc := range map[string]struct {
		change func(*corev1.Node)
		want   bool
	}{
		"a heartbeat": {func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime.Time = time.Unix(1, 0) }, false},
		"not Ready":   {func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }, true},
		"a condition": {func(n *corev1.Node) {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: "X"})
		}, true},
		"a label":      {func(n *corev1.Node) { n.Labels["a"] = "c" }, true},
		"a record":     {func(n *corev1.Node) { n.Annotations["c"] = "e" }, true},
		"a cordon":     {func(n *corev1.Node) { n.Spec.Unschedulable = true }, true},
		"a taint":      {func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "x"}} }, true},
		"another node": {func(n *corev1.Node) { n.UID = "other" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := nodeChanged(node(func(*corev1.Node) {}), node(tc.change)); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
