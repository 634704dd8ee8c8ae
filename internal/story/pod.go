// SPDX-License-Identifier: Apache-2.0

package story

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pod is a pod of the node.
type pod struct {
	name   string // namespace/name
	ending *time.Time
	stays  bool // a drain does not ask it to leave
}

// sawPod takes in how a pod of the node is.
func (s *Story) sawPod(p *corev1.Pod, at time.Time) {
	known, found := s.pods[string(p.UID)]
	if !found {
		known = &pod{name: p.Namespace + "/" + p.Name, stays: stays(p)}
		s.pods[string(p.UID)] = known
		if !known.stays {
			s.tell(at, false, "Pod "+known.name+" came to the node")
		}
	}
	if p.DeletionTimestamp != nil && known.ending == nil {
		known.ending = &at
	}
}

// podGone takes in that a pod has left the node.
func (s *Story) podGone(p *corev1.Pod, at time.Time) {
	known, found := s.pods[string(p.UID)]
	if !found {
		return
	}
	delete(s.pods, string(p.UID))
	if known.stays {
		return
	}
	text := fmt.Sprintf("Pod %s is gone", known.name)
	if known.ending != nil {
		text += fmt.Sprintf(", %.1fs after it was asked to end", at.Sub(*known.ending).Seconds())
	}
	s.tell(at, false, text)
}

// stays says whether a drain leaves the pod alone: what runs for the node itself.
func stays(p *corev1.Pod) bool {
	if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return true
	}
	owner := metav1.GetControllerOfNoCopy(p)
	return owner != nil && owner.Kind == "DaemonSet"
}
