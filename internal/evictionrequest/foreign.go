// SPDX-License-Identifier: Apache-2.0

package evictionrequest

import evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"

// KubernetesController is as whom Kubernetes' own evictionrequest-controller writes.
const KubernetesController = "kube-controller-manager"

// IsOfKubernetes says whether Kubernetes' own controller has written the status of an
// Eviction: then there is one at work, and no need of another. Owners are written by the
// same name, by the garbage collector; and of requests, whoever owns a namespace may say
// who has written them.
func IsOfKubernetes(e *evictionv1alpha1.Eviction) bool {
	for _, m := range e.ManagedFields {
		if m.Manager == KubernetesController && m.Subresource == "status" {
			return true
		}
	}
	return false
}
