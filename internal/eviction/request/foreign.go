// SPDX-License-Identifier: Apache-2.0

package request

import (
	"strings"
	"time"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KubernetesController is as whom Kubernetes' own evictionrequest-controller writes.
const KubernetesController = "kube-controller-manager"

// IsOfKubernetes says whether Kubernetes' own controller is at work on an Eviction: then
// there is no need of another. It has said lately whose turn it is. Owners are written by
// the same name, by the garbage collector; an Eviction that is left of a controller which
// was switched off is as old as that; and of requests, whoever owns a namespace may say who
// has written them.
func IsOfKubernetes(e *evictionv1alpha1.Eviction, now time.Time) bool {
	if ended(e) {
		return false
	}
	for _, m := range e.ManagedFields {
		if m.Manager == KubernetesController && m.Subresource == "status" && saysTurns(m) &&
			m.Time != nil && now.Sub(m.Time.Time) < HeartbeatDeadline {
			return true
		}
	}
	return false
}

func saysTurns(m metav1.ManagedFieldsEntry) bool {
	return m.FieldsV1 != nil && strings.Contains(m.FieldsV1.GetRawString(), `"f:targetResponders"`)
}
