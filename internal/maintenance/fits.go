// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// fits are the nodes that are out on which a pod could run, were they not cordoned, by its
// node affinity and its tolerations. What else the scheduler asks for, such as room, is not
// looked at: a node that might do counts as one that does.
func (p *pass) fits(pod *corev1.Pod) (names []string) {
	affinity := nodeaffinity.GetRequiredNodeAffinity(pod)
	for _, n := range p.nodes {
		if !n.exists() || n.drain == nil && n.back == nil {
			continue
		}
		if match, err := affinity.Match(n.Node.Node); err == nil && match && tolerates(pod, n.Spec.Taints) {
			names = append(names, n.name)
		}
	}
	return names
}

// tolerates leaves out the taint of a cordon.
func tolerates(pod *corev1.Pod, taints []corev1.Taint) bool {
	keepsOut := func(t *corev1.Taint) bool {
		return t.Key != corev1.TaintNodeUnschedulable && (t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute)
	}
	_, found := schedulinghelpers.FindMatchingUntoleratedTaint(logr.Discard(), taints, pod.Spec.Tolerations, keepsOut, true)
	return !found
}
