// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestFilter(t *testing.T) {
	cases := map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"a pod of a ReplicaSet leaves":                        {newPod("p", ownedBy("apps/v1", "ReplicaSet", true)), true},
		"a pod that nobody manages leaves":                    {newPod("p"), true},
		"a pod with local storage leaves":                     {newPod("p", localStorage), true},
		"a mirror pod stays":                                  {newPod("p", mirror), false},
		"a finished mirror pod stays":                         {newPod("p", mirror, phase(corev1.PodFailed)), false},
		"a pod of a DaemonSet stays":                          {newPod("p", ownedBy("apps/v1", "DaemonSet", true)), false},
		"a finished pod of a DaemonSet leaves":                {newPod("p", ownedBy("apps/v1", "DaemonSet", true), phase(corev1.PodSucceeded)), true},
		"a pod that a DaemonSet owns without control leaves":  {newPod("p", ownedBy("apps/v1", "DaemonSet", false)), true},
		"a pod of another group's DaemonSet leaves":           {newPod("p", ownedBy("apps.kruise.io/v1alpha1", "DaemonSet", true)), true},
		"a pod of a DaemonSet of an old version leaves":       {newPod("p", ownedBy("apps/v1beta2", "DaemonSet", true)), true},
		"a pod of a core object named DaemonSet leaves":       {newPod("p", ownedBy("v1", "DaemonSet", true)), true},
		"a pod whose owner has an unreadable version leaves":  {newPod("p", ownedBy("a/b/c", "DaemonSet", true)), true},
		"a finished pod leaves":                               {newPod("p", phase(corev1.PodSucceeded)), true},
		"a terminating pod is counted until it is gone":       {newPod("p", endingAt(noon)), true},
		"a terminating pod of a DaemonSet is not our concern": {newPod("p", endingAt(noon), ownedBy("apps/v1", "DaemonSet", true)), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			leaving, left := filter([]*corev1.Pod{tc.pod}, calm())
			if len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if got := len(leaving) == 1; got != tc.want {
				t.Errorf("must leave: got %t, want %t", got, tc.want)
			}
		})
	}
}

func TestScopeLeavesOutPodsOfOtherNodes(t *testing.T) {
	elsewhere := newPod("b", func(p *corev1.Pod) { p.Spec.NodeName = "w2" })
	unbound := newPod("c", func(p *corev1.Pod) { p.Spec.NodeName = "" })
	got := scope("w1", []*corev1.Pod{newPod("a"), elsewhere, unbound})
	if len(got) != 1 || got[0].Name != "a" {
		t.Errorf("got %v, want pod a alone", got)
	}
}

func localStorage(pod *corev1.Pod) {
	pod.Spec.Volumes = []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
}
