// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Removal describes the removal of a static pod. No API server can evict such a pod: the kubelet runs it as long as its
// manifest exists.
type Removal struct {
	// Left is the cause for which the pod must stay: the drain does not wait for it. Empty: it must leave.
	Left string
	// Able: a process on the machine removes the pod when Status.Static names it.
	Able bool
	// Trouble is the cause for which the pod stays although it must leave. Empty if Able: no cause is known.
	Trouble string
}

// staticsOf returns the removals of the static pods among pods. node is nil if it is not known.
func staticsOf(node *corev1.Node, pods []*corev1.Pod, expect func(*corev1.Node, *corev1.Pod) Removal) map[types.UID]Removal {
	found := map[types.UID]Removal{}
	for _, pod := range pods {
		switch {
		case !isMirror(pod):
		case node == nil || expect == nil:
			found[pod.UID] = Removal{Trouble: "no process removes static pods"}
		default:
			found[pod.UID] = expect(node, pod)
		}
	}
	return found
}

// takeAway decides about a static pod in its step. If its removal is possible, it waits for the grace period of the pod, and
// for the report of its kubelet.
func (p *pacing) takeAway(l leaver, since time.Time) (hold *obstacle, wake time.Time) {
	s := p.facts.statics[l.pod.UID]
	if s.Able {
		p.statics = append(p.statics, l.pod)
	}
	if s.Trouble != "" {
		return StaticPodStays.obstacle("", "%s", s.Trouble), time.Time{}
	}
	limit := time.Duration(graceOf(l.pod))*time.Second + 2*overdueAfter
	if due := since.Add(limit); p.facts.now.Before(due) {
		return nil, due
	}
	return StaticPodStays.obstacle("", "the removal of the pod began, and its kubelet has not confirmed its end in %s", limit), time.Time{}
}

// graceOf returns the grace period of a pod, in seconds.
func graceOf(pod *corev1.Pod) int64 {
	return ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
}
