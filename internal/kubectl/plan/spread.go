// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// spread is one topology spread constraint, with the pods that it counts.
type spread struct {
	corev1.TopologySpreadConstraint
	counts map[domain]int
	least  int
	self   int
}

// spreadOf counts as the scheduler does. A cordoned node is a domain as any other, unless
// the constraint honors taints; so is one that is drained, which then has the least.
func (c *cluster) spreadOf(pod *corev1.Pod, affinity nodeaffinity.RequiredNodeAffinity) []spread {
	var all []spread
	for _, t := range pod.Spec.TopologySpreadConstraints {
		if t.WhenUnsatisfiable == corev1.DoNotSchedule {
			all = append(all, spread{TopologySpreadConstraint: t, counts: map[domain]int{}})
		}
	}
	for i := range all {
		s := &all[i]
		selector := s.selectorFor(pod)
		for _, r := range c.rooms {
			if !s.counted(r.node, pod, affinity) || !hasAll(r.node, all) {
				continue
			}
			d, _ := domainOf(r.node, s.TopologyKey)
			s.counts[d] += countOf(r.pods, pod.Namespace, selector)
		}
		s.settle()
		if selector.Matches(labels.Set(pod.Labels)) {
			s.self = 1
		}
	}
	return all
}

// selectorFor returns the selector of the constraint, with matchLabelKeys.
func (s *spread) selectorFor(pod *corev1.Pod) labels.Selector {
	from := s.LabelSelector.DeepCopy()
	if from == nil {
		return labels.Nothing()
	}
	for _, key := range s.MatchLabelKeys {
		if value, ok := pod.Labels[key]; ok {
			from.MatchExpressions = append(from.MatchExpressions, metav1.LabelSelectorRequirement{
				Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value},
			})
		}
	}
	selector, err := metav1.LabelSelectorAsSelector(from)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}

// counted reports whether the constraint counts the node.
func (s *spread) counted(node *corev1.Node, pod *corev1.Pod, affinity nodeaffinity.RequiredNodeAffinity) bool {
	if p := s.NodeAffinityPolicy; p == nil || *p == corev1.NodeInclusionPolicyHonor {
		if fits, err := affinity.Match(node); err != nil || !fits {
			return false
		}
	}
	if p := s.NodeTaintsPolicy; p != nil && *p == corev1.NodeInclusionPolicyHonor {
		if _, found := untolerated(node, pod); found {
			return false
		}
	}
	return true
}

func hasAll(node *corev1.Node, all []spread) bool {
	return !slices.ContainsFunc(all, func(s spread) bool {
		_, ok := domainOf(node, s.TopologyKey)
		return !ok
	})
}

func countOf(pods []*corev1.Pod, namespace string, selector labels.Selector) (n int) {
	for _, p := range pods {
		if p.Namespace == namespace && p.DeletionTimestamp == nil && selector.Matches(labels.Set(p.Labels)) {
			n++
		}
	}
	return n
}

// settle finds the least of all domains; none, if there are fewer than there should be.
func (s *spread) settle() {
	first := true
	for _, n := range s.counts {
		if first || n < s.least {
			s.least, first = n, false
		}
	}
	if s.MinDomains != nil && len(s.counts) < int(*s.MinDomains) {
		s.least = 0
	}
}

func (s *spread) obstacle(node *corev1.Node) string {
	d, ok := domainOf(node, s.TopologyKey)
	if !ok {
		return "without label " + s.TopologyKey + ", which it is spread by"
	}
	if s.counts[d]+s.self-s.least > int(s.MaxSkew) {
		return "too many of its pods in the same " + s.TopologyKey
	}
	return ""
}
