// SPDX-License-Identifier: Apache-2.0

package surge

import corev1 "k8s.io/api/core/v1"

// Itself is the responder as a pod would name it.
func Itself() corev1.EvictionResponder {
	return corev1.EvictionResponder{Name: Responder, Priority: new(Priority)}
}

// IsCandidate tells whether a pod looks like a Deployment's: nothing else is looked at
// before its turn.
func IsCandidate(pod *corev1.Pod) bool {
	return ReplicaSetOf(pod) != nil && pod.Labels[LabelHash] != "" || Marked(pod)
}

// OptIn is what the label says on a pod or on a Namespace. said is false where it does not
// say "true" or "false".
func OptIn(labels map[string]string) (wanted, said bool) {
	value := labels[Responder]
	return value == "true", value == "true" || value == "false"
}
