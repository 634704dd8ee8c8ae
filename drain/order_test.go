// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// TestWhatANodeNeedsLeavesLast: of DaemonSets, those that are critical for nodes, as network
// and volumes are; and then who drains.
func TestWhatANodeNeedsLeavesLast(t *testing.T) {
	ofDaemonSet := ownedBy("apps/v1", "DaemonSet", true)
	ofOwn := func(p *corev1.Pod) { p.Namespace = "slipway-system" }
	pods := []*corev1.Pod{
		newPod("controller", ofOwn), newPod("agent", ofOwn, ofDaemonSet, priority(2000001000)),
		newPod("network", ofDaemonSet, priority(2000001000)), newPod("dns", priority(2000000000)),
		newPod("logs", ofDaemonSet), newPod("volumes", ofDaemonSet, priority(2000001000)), newPod("metrics", ofDaemonSet, priority(1000)), newPod("web"),
	}
	f := facts{own: "slipway-system", request: Request{Targets: []Target{{PodType: PodTypeDefault}, {PodType: PodTypeDaemonSet}}}}
	leaving, _ := filter(pods, f)
	var got []string
	for _, step := range order(leaving, f.own) {
		var names []string
		for _, l := range step {
			names = append(names, l.pod.Name)
		}
		got = append(got, strings.Join(names, " "))
	}
	if diff := cmp.Diff([]string{"web", "dns", "logs", "metrics", "network volumes", "controller"}, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}
