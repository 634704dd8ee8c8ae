// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"

	"github.com/slipway-k8s/slipway/drain"
)

// place finds a node for each replacement, by the UID of the pod that leaves. Each takes resources
// from the next. The order is: early rounds, then high priority, then large pods
// (first-fit-decreasing).
func place(f Facts, outlooks []drain.Outlook) map[types.UID]*Replacement {
	placed := map[types.UID]*Replacement{}
	if len(f.Nodes) == 0 {
		return placed
	}
	c := newCluster(f, outlooks)
	for _, o := range c.inOrder(outlooks) {
		placed[o.Pod.UID] = c.place(replacementOf(o.Pod))
	}
	return placed
}

// inOrder returns the pods that a controller starts again elsewhere.
func (c *cluster) inOrder(outlooks []drain.Outlook) []drain.PodOutlook {
	var all []drain.PodOutlook
	for _, o := range outlooks {
		for _, p := range o.Pods {
			if leaves(p) && metav1.GetControllerOfNoCopy(p.Pod) != nil && !isFinished(p.Pod) && p.Verdict != drain.Recur {
				all = append(all, p)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b drain.PodOutlook) int {
		return cmp.Or(
			cmp.Compare(a.Round, b.Round),
			cmp.Compare(schedulinghelpers.PodPriority(b.Pod), schedulinghelpers.PodPriority(a.Pod)),
			cmp.Compare(c.size(b.Pod), c.size(a.Pod)),
			cmp.Compare(a.Pod.Namespace, b.Pod.Namespace),
			cmp.Compare(a.Pod.Name, b.Pod.Name),
		)
	})
	return all
}

func leaves(o drain.PodOutlook) bool { return Pod{Verdict: o.Verdict}.Leaves() }

// replacementOf returns the pod as its controller creates it again.
func replacementOf(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.Spec.NodeName, pod.Status, pod.DeletionTimestamp = "", corev1.PodStatus{}, nil
	return pod
}

// place puts a pod onto the first node that can take it.
func (c *cluster) place(pod *corev1.Pod) *Replacement {
	w := c.wishesOf(pod)
	counts := map[string]int{}
	for _, r := range c.rooms {
		why := r.obstacle(w)
		if why == "" {
			c.take(r, pod)
			return &Replacement{Node: r.node.Name}
		}
		counts[why]++
	}
	replacement := &Replacement{}
	for _, why := range slices.Sorted(maps.Keys(counts)) {
		replacement.Obstacles = append(replacement.Obstacles, Obstacle{Why: why, Nodes: counts[why]})
	}
	slices.SortStableFunc(replacement.Obstacles, func(a, b Obstacle) int { return cmp.Compare(b.Nodes, a.Nodes) })
	return replacement
}

func count(placed map[types.UID]*Replacement) *Replacements {
	all, on := &Replacements{Total: len(placed)}, map[string]int{}
	for _, r := range placed {
		if r.Node == "" {
			all.Nowhere++
			continue
		}
		on[r.Node]++
	}
	for _, node := range slices.Sorted(maps.Keys(on)) {
		all.Fit = append(all.Fit, Share{Node: node, Pods: on[node]})
	}
	return all
}
