// SPDX-License-Identifier: Apache-2.0

package story

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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

// SawPod takes in how a pod of the node is.
func (s *Story) SawPod(p *corev1.Pod, at time.Time) {
	s.found(at)
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

// PodGone takes in that a pod has left the node.
func (s *Story) PodGone(p *corev1.Pod, at time.Time) {
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

// leaving are the pods that a drain waits for: those that end first, then by name.
func (s *Story) leaving() []*pod {
	pods := slices.DeleteFunc(slices.Collect(maps.Values(s.pods)), func(p *pod) bool { return p.stays })
	slices.SortFunc(pods, func(a, b *pod) int {
		if (a.ending == nil) != (b.ending == nil) {
			if a.ending != nil {
				return -1
			}
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	return pods
}
