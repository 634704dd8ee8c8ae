// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/explain"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
)

// nodeStatus is how a node is, with one of its events, if it has one.
type nodeStatus struct {
	Node string `json:"node"`
	// State is one word: of the event, or else of the node.
	State string `json:"state"`
	// Event and what it says. Empty: the node has none.
	Event         string                        `json:"event,omitempty"`
	Transition    string                        `json:"transition,omitempty"`
	Phase         lifecyclev1alpha1.ClaimStatus `json:"phase,omitempty"`
	Progress      *lifecyclev1alpha1.Progress   `json:"progress,omitempty"`
	Waiting       string                        `json:"waiting,omitempty"`
	Message       string                        `json:"message,omitempty"`
	Blockers      []lifecyclev1alpha1.Blocker   `json:"blockers,omitempty"`
	BlockersTotal int32                         `json:"blockersTotal,omitempty"`
	// Outdated means that what is said was said of an older spec of the event.
	Outdated bool         `json:"outdated,omitempty"`
	Since    *metav1.Time `json:"since,omitempty"`
	Deadline *metav1.Time `json:"deadline,omitempty"`
	// RequestedBy and Reason are who asked, and why.
	RequestedBy string `json:"requestedBy,omitempty"`
	Reason      string `json:"reason,omitempty"`
	// Maintenances are the names of the NodeMaintenances that the event is for.
	Maintenances []string `json:"maintenances,omitempty"`
	// CordonedFor are events of Slipway that the node is cordoned for, CordonedByOthers who
	// else has cordoned it.
	CordonedFor      []string `json:"cordonedFor,omitempty"`
	CordonedByOthers string   `json:"cordonedByOthers,omitempty"`

	tone ui.Tone
}

// overview is of all nodes in or near maintenance, and of those that are named. The others
// are in service.
func overview(nodes []*corev1.Node, events []*lifecyclev1alpha1.LifecycleEvent, named []string) []nodeStatus {
	wanted := func(name string) bool { return named == nil || slices.Contains(named, name) }
	var all []nodeStatus
	for _, event := range events {
		if wanted(event.Spec.BindingNode) {
			all = append(all, ofEvent(event, nodeNamed(nodes, event.Spec.BindingNode)))
		}
	}
	for _, node := range nodes {
		has := slices.ContainsFunc(all, func(s nodeStatus) bool { return s.Node == node.Name })
		if s := ofNode(node); !has && wanted(node.Name) && (named != nil || s.State != inService) {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b nodeStatus) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(order(a.Phase), order(b.Phase)), cmp.Compare(a.Event, b.Event))
	})
	return all
}

// order has the event first that is driven.
func order(phase lifecyclev1alpha1.ClaimStatus) int {
	switch {
	case phase == lifecyclev1alpha1.Claimed:
		return 0
	case phase.Terminal():
		return 2
	default:
		return 1
	}
}

func nodeNamed(nodes []*corev1.Node, name string) *corev1.Node {
	for _, node := range nodes {
		if node.Name == name {
			return node
		}
	}
	return nil
}

func ofEvent(event *lifecyclev1alpha1.LifecycleEvent, node *corev1.Node) nodeStatus {
	status, state, wait := &event.Status, progress.StateOf(event), progress.Waits(event)
	s := nodeStatus{
		Node: event.Spec.BindingNode, State: state.Text, tone: state.Tone,
		Event: event.Name, Transition: event.Spec.TransitionName, Phase: status.ClaimStatus, Progress: status.Progress,
		Waiting: wait.Reason, Message: wait.Message, Blockers: status.Blockers,
		BlockersTotal: max(status.BlockersTotal, int32(len(status.Blockers))),
		Outdated:      wait.Outdated || progress.Outdated(event), Deadline: status.SLA,
		RequestedBy: event.Spec.RequestedBy, Reason: event.Spec.Reason,
		Maintenances: maintenanceNames([]*lifecyclev1alpha1.LifecycleEvent{event}, event.Spec.BindingNode),
	}
	if !event.CreationTimestamp.IsZero() {
		s.Since = &event.CreationTimestamp
	}
	if s.Phase == "" {
		s.Phase = lifecyclev1alpha1.Pending
	}
	s.addCordons(node)
	return s
}

func (s *nodeStatus) addCordons(node *corev1.Node) {
	if node == nil {
		return
	}
	ours, others := nodestate.Cordons(node)
	for _, owner := range ours { // a name that is used again is told once
		if !slices.Contains(s.CordonedFor, owner.Event) {
			s.CordonedFor = append(s.CordonedFor, owner.Event)
		}
	}
	if others != nil {
		s.CordonedByOthers = cmp.Or(others.By, "somebody else")
	}
}

// The states of a node without an event.
const (
	inService = "in service"
	drained   = "drained"
	cordoned  = "cordoned"
	goingDown = "going down"
)

// ofNode is how a node is that has no event. What it is called is for explain to say; of
// nodes that it only knows as cordoned, the conditions may tell what another drain does.
func ofNode(node *corev1.Node) nodeStatus {
	s := nodeStatus{Node: node.Name}
	s.addCordons(node)
	state := explain.Explain(explain.Facts{NodeName: node.Name, Node: node}, time.Time{}).State
	switch {
	case state == explain.InService:
		s.State, s.tone = inService, ui.Good
		return s
	case state == explain.GoingDown:
		s.State, s.tone = goingDown, ui.Warn
	case state == explain.Drained:
		s.State = drained
	case isTrue(node, corev1.NodeDrainInProgress):
		s.State = "draining"
	default:
		s.State, s.tone = cordoned, ui.Warn
	}
	ours, others := nodestate.Cordons(node)
	last := nodeCondition(node, lifecyclev1alpha1.NodeConditionLifecycleTransition)
	switch {
	case len(ours) > 0:
		s.Since = &metav1.Time{Time: ours[0].Since}
		if last != nil && last.Status == corev1.ConditionFalse {
			s.Waiting, s.Message = last.Reason, last.Message
		}
	case others != nil && !others.Since.IsZero():
		s.Since = &metav1.Time{Time: others.Since}
	}
	return s
}

func nodeCondition(node *corev1.Node, conditionType corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == conditionType {
			return c
		}
	}
	return nil
}

func isTrue(node *corev1.Node, conditionType corev1.NodeConditionType) bool {
	c := nodeCondition(node, conditionType)
	return c != nil && c.Status == corev1.ConditionTrue
}

// who is who asked, or whose the cordon is.
func (s *nodeStatus) who() string {
	switch {
	case len(s.Maintenances) > 0:
		return "maintenance " + strings.Join(s.Maintenances, ", ")
	case s.RequestedBy != "":
		return s.RequestedBy
	case s.Event == "" && len(s.CordonedFor) > 0:
		text := "for " + strings.Join(s.CordonedFor, ", ")
		if s.CordonedByOthers != "" {
			text += "; " + s.CordonedByOthers
		}
		return text
	case s.Event == "" && s.CordonedByOthers != "":
		return s.CordonedByOthers
	default:
		return "-"
	}
}

// blockedBy is the first of what holds it up.
func (s *nodeStatus) blockedBy() string {
	text := "-"
	switch {
	case s.Waiting != "":
		text = s.Waiting
	case len(s.Blockers) > 0 && !s.Phase.Terminal():
		text = fmt.Sprintf("%s: %s", s.Blockers[0].Reason, s.Blockers[0].Object)
		if more := s.BlockersTotal - 1; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
	}
	if s.Outdated {
		text += " (outdated)"
	}
	return text
}

// help is what is said of [nodeStatus.blockedBy].
func (s *nodeStatus) help() string {
	if s.Waiting == "" && len(s.Blockers) > 0 {
		return progress.Remedy(s.Blockers[0])
	}
	return s.Message
}
