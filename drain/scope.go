// SPDX-License-Identifier: Apache-2.0

package drain

import corev1 "k8s.io/api/core/v1"

// scope keeps the pods that this drain speaks about: those bound to its node. The watch asks the server for the same;
// checking again keeps the promise with clients that ignore field selectors.
func scope(nodeName string, pods []*corev1.Pod) []*corev1.Pod {
	var in []*corev1.Pod
	for _, pod := range pods {
		if pod.Spec.NodeName == nodeName {
			in = append(in, pod)
		}
	}
	return in
}
