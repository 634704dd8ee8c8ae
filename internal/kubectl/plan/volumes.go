// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// volumesOf are the volumes that a pod takes with it. A claim of a volume of its own is made
// anew for a replacement, and one that is not bound yet is bound where the pod goes.
func (c *cluster) volumesOf(pod *corev1.Pod) (volumes []*corev1.PersistentVolume, missing string) {
	if c.facts.Claims == nil || c.facts.Volumes == nil {
		return nil, ""
	}
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		name := v.PersistentVolumeClaim.ClaimName
		claim := c.facts.Claims[types.NamespacedName{Namespace: pod.Namespace, Name: name}]
		if claim == nil {
			return nil, fmt.Sprintf("claim %s does not exist", name)
		}
		if volume := c.facts.Volumes[claim.Spec.VolumeName]; volume != nil {
			volumes = append(volumes, volume)
		}
	}
	return volumes, ""
}
