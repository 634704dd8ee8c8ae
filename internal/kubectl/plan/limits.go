// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-k8s/slipway/drain"
)

// always is what no prediction looks at.
var always = []string{
	"guards, gates, and other events of the nodes",
	"webhooks, quotas, and namespaces that are being deleted",
	"how long pods take to end and to become ready, and volumes to be detached",
	"what the scheduler prefers, its profiles and plugins, preemption",
	"how many volumes a node may have",
	"who responds to Evictions: pods that a drain would leave to responders are shown as if it evicted them",
	"what a cluster autoscaler and others do meanwhile",
}

func notLookedAt(outlooks []drain.Outlook) []string {
	var leaving []*corev1.Pod
	for _, o := range outlooks {
		for _, p := range o.Pods {
			if leaves(p) {
				leaving = append(leaving, p.Pod)
			}
		}
	}
	return NotLookedAt(leaving)
}

// NotLookedAt is what may change what happens: in general, and for the pods that leave.
func NotLookedAt(leaving []*corev1.Pod) []string {
	all := slices.Clone(always)
	devices, ephemeral, schedulers := 0, 0, map[string]bool{}
	for _, pod := range leaving {
		if len(pod.Spec.ResourceClaims) > 0 {
			devices++
		}
		if slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Ephemeral != nil }) {
			ephemeral++
		}
		if name := pod.Spec.SchedulerName; name != "" && name != corev1.DefaultSchedulerName {
			schedulers[name] = true
		}
	}
	if devices > 0 {
		all = append(all, fmt.Sprintf("devices (dynamic resource allocation), which %d of the pods that leave have", devices))
	}
	if ephemeral > 0 {
		all = append(all, fmt.Sprintf("generic ephemeral volumes, which %d of the pods that leave have: they go with their pods, and replacements get new ones", ephemeral))
	}
	for _, name := range slices.Sorted(maps.Keys(schedulers)) {
		all = append(all, fmt.Sprintf("how scheduler %s places pods, which some of those that leave have", name))
	}
	return all
}
