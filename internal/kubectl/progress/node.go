// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/state"
)

// sawNode processes the current state of the Node.
func (s *Item) sawNode(node *corev1.Node, at time.Time) {
	before := s.node
	if before == nil {
		before = &corev1.Node{}
	}
	hadReason := reasonOf(s.nodeCondition())
	s.node = node
	switch {
	case node.Spec.Unschedulable && !before.Spec.Unschedulable:
		s.tell(at, true, "Node "+node.Name+" is cordoned")
	case !node.Spec.Unschedulable && before.Spec.Unschedulable:
		s.tell(at, true, "Node "+node.Name+" is uncordoned")
	}
	if c := s.nodeCondition(); c != nil && c.Reason != hadReason {
		s.tell(at, true, fmt.Sprintf("Node condition %s is %s, reason %s", c.Type, c.Status, c.Reason))
	}
}

// nodeCondition returns the condition of the Node about its last event, or nil.
func (s *Item) nodeCondition() *corev1.NodeCondition {
	if s.node == nil {
		return nil
	}
	return state.NodeCondition(s.node, lifecyclev1alpha1.NodeConditionLifecycleTransition)
}

func reasonOf(c *corev1.NodeCondition) string {
	if c == nil {
		return ""
	}
	return c.Reason
}

// pod is a pod of the node.
type pod struct {
	name   string // namespace/name
	ending *time.Time
	grace  *int64 // seconds that it may take to end
	stays  bool   // a drain does not ask it to leave
}

// sawPod processes the current state of a pod of the node.
func (s *Item) sawPod(p *corev1.Pod, at time.Time) {
	known, found := s.pods[string(p.UID)]
	if !found {
		known = &pod{name: p.Namespace + "/" + p.Name, stays: stays(p)}
		s.pods[string(p.UID)] = known
		if !known.stays {
			s.tell(at, false, "Pod "+known.name+" came to the node")
		}
	}
	if p.DeletionTimestamp != nil && known.ending == nil {
		known.ending, known.grace = &at, p.DeletionGracePeriodSeconds
	}
}

// podGone takes in that a pod has left the node.
func (s *Item) podGone(p *corev1.Pod, at time.Time) {
	known, found := s.pods[string(p.UID)]
	if !found {
		return
	}
	delete(s.pods, string(p.UID))
	if known.stays {
		return
	}
	text := fmt.Sprintf("Pod %s has terminated", known.name)
	if known.ending != nil {
		text += fmt.Sprintf(", %.1fs after its deletion began", at.Sub(*known.ending).Seconds())
	}
	s.tell(at, false, text)
}

// slow is the time after which a terminating pod is shown.
const slow = 5 * time.Second

// endingText is the pod that has been ending for longest, where it takes long.
func (s *Item) endingText(now time.Time) string {
	var longest *pod
	count := 0
	for _, p := range s.pods {
		if p.stays || p.ending == nil || now.Sub(*p.ending) < slow {
			continue
		}
		count++
		if longest == nil || p.ending.Before(*longest.ending) || p.ending.Equal(*longest.ending) && p.name < longest.name {
			longest = p
		}
	}
	if longest == nil {
		return ""
	}
	text := fmt.Sprintf("Pod %s has been ending for %s", longest.name, duration.HumanDuration(now.Sub(*longest.ending)))
	if longest.grace != nil {
		text += fmt.Sprintf(", of %s that it may take", time.Duration(*longest.grace)*time.Second)
	}
	if count > 1 {
		text += fmt.Sprintf(" (and %d more)", count-1)
	}
	return text
}

// stays reports whether a drain ignores the pod: a static pod, or a pod of a DaemonSet.
func stays(p *corev1.Pod) bool {
	if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return true
	}
	owner := metav1.GetControllerOfNoCopy(p)
	return owner != nil && owner.Kind == "DaemonSet"
}
