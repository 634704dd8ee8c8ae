// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// sawNode takes in how the Node is.
func (s *Story) sawNode(node *corev1.Node, at time.Time) {
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
		s.tell(at, true, "Node "+node.Name+" takes pods again")
	}
	if c := s.nodeCondition(); c != nil && c.Reason != hadReason {
		s.tell(at, true, fmt.Sprintf("Node condition %s is %s, reason %s", c.Type, c.Status, c.Reason))
	}
}

// nodeCondition is the Node's condition of the last event.
func (s *Story) nodeCondition() *corev1.NodeCondition {
	if s.node == nil {
		return nil
	}
	for i := range s.node.Status.Conditions {
		if c := &s.node.Status.Conditions[i]; c.Type == lifecyclev1alpha1.NodeConditionLifecycleTransition {
			return c
		}
	}
	return nil
}

func reasonOf(c *corev1.NodeCondition) string {
	if c == nil {
		return ""
	}
	return c.Reason
}
