// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// domain is a part of the cluster: the nodes with the same value of a label.
type domain struct{ key, value string }

func domainOf(node *corev1.Node, key string) (domain, bool) {
	value, ok := node.Labels[key]
	return domain{key, value}, ok
}

// company contains the domains that a pod must avoid, and the domains that it needs, because of
// other pods.
type company struct {
	// avoided are domains with pods that it does not want, or that do not want it.
	avoided map[domain]bool
	// sought are the domains that satisfy each of its terms.
	sought []map[domain]bool
	keys   []string
	// alone: there is no pod that it seeks, and it would be the first of them itself.
	alone bool
}

func (c *cluster) companyOf(pod *corev1.Pod) company {
	co := company{avoided: map[domain]bool{}}
	for _, other := range c.picky {
		for _, term := range antiAffinityOf(other.pod) {
			if c.isMeant(term, other.pod, pod) {
				co.avoid(other.room.node, term.TopologyKey)
			}
		}
	}
	terms := affinityOf(pod)
	if len(terms)+len(antiAffinityOf(pod)) == 0 {
		return co
	}
	for _, term := range terms {
		co.keys = append(co.keys, term.TopologyKey)
		co.sought = append(co.sought, map[domain]bool{})
	}
	co.alone = len(terms) > 0 && c.areMeant(terms, pod, pod)
	for _, r := range c.rooms {
		for _, other := range r.pods {
			c.look(&co, pod, placedPod{other, r})
		}
	}
	return co
}

// look takes in one of the other pods.
func (c *cluster) look(co *company, pod *corev1.Pod, other placedPod) {
	for _, term := range antiAffinityOf(pod) {
		if c.isMeant(term, pod, other.pod) {
			co.avoid(other.room.node, term.TopologyKey)
		}
	}
	if terms := affinityOf(pod); len(terms) > 0 && c.areMeant(terms, pod, other.pod) {
		co.seek(other.room.node)
	}
}

func (co *company) avoid(node *corev1.Node, key string) {
	if d, ok := domainOf(node, key); ok {
		co.avoided[d] = true
	}
}

func (co *company) seek(node *corev1.Node) {
	for i, key := range co.keys {
		if d, ok := domainOf(node, key); ok {
			co.sought[i][d], co.alone = true, false
		}
	}
}

func (co company) obstacle(node *corev1.Node) string {
	for i, key := range co.keys {
		d, ok := domainOf(node, key)
		if !ok || !co.alone && !co.sought[i][d] {
			return "not beside the pods that its affinity requires"
		}
	}
	for d := range co.avoided {
		if there, ok := domainOf(node, d.key); ok && there == d {
			return "beside pods that anti-affinity keeps apart"
		}
	}
	return ""
}

func (c *cluster) areMeant(terms []corev1.PodAffinityTerm, of, pod *corev1.Pod) bool {
	return !slices.ContainsFunc(terms, func(t corev1.PodAffinityTerm) bool { return !c.isMeant(t, of, pod) })
}

// isMeant reports whether a term of a pod selects another pod.
func (c *cluster) isMeant(term corev1.PodAffinityTerm, of, pod *corev1.Pod) bool {
	return c.isNamespaceMeant(term, of, pod.Namespace) && matches(term.LabelSelector, pod)
}

func (c *cluster) isNamespaceMeant(term corev1.PodAffinityTerm, of *corev1.Pod, namespace string) bool {
	if len(term.Namespaces) == 0 && term.NamespaceSelector == nil {
		return of.Namespace == namespace
	}
	if slices.Contains(term.Namespaces, namespace) {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(term.NamespaceSelector)
	return err == nil && selector.Matches(c.facts.Namespaces[namespace])
}

// matches reports whether a selector selects a pod. An invalid selector selects no pod.
func matches(from *metav1.LabelSelector, pod *corev1.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(from)
	return err == nil && selector.Matches(labels.Set(pod.Labels))
}

func affinityOf(pod *corev1.Pod) []corev1.PodAffinityTerm {
	if a := pod.Spec.Affinity; a != nil && a.PodAffinity != nil {
		return a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

func antiAffinityOf(pod *corev1.Pod) []corev1.PodAffinityTerm {
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		return a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}
