// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/state"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
)

// nodeStatus is the status of a node, with one of its events, if it has events.
type nodeStatus struct {
	Node string `json:"node"`
	// State is the state of the event, or of a node without events.
	State state.State `json:"state"`
	// Event and the fields after it come from the event. They are empty for a node without events.
	Event         string                        `json:"event,omitempty"`
	Transition    string                        `json:"transition,omitempty"`
	Phase         lifecyclev1alpha1.ClaimStatus `json:"phase,omitempty"`
	Progress      *lifecyclev1alpha1.Progress   `json:"progress,omitempty"`
	Waiting       string                        `json:"waiting,omitempty"`
	Message       string                        `json:"message,omitempty"`
	Blockers      []lifecyclev1alpha1.Blocker   `json:"blockers,omitempty"`
	BlockersTotal int                           `json:"blockersTotal,omitempty"`
	// Outdated means that the report is about an older spec of the event.
	Outdated bool         `json:"outdated,omitempty"`
	Since    *metav1.Time `json:"since,omitempty"`
	Deadline *metav1.Time `json:"deadline,omitempty"`
	// Until is the expected return of the node, and Next its next step.
	Until *metav1.Time `json:"until,omitempty"`
	Next  string       `json:"next,omitempty"`
	// RequestedBy and Reason are the requester and its reason.
	RequestedBy string `json:"requestedBy,omitempty"`
	Reason      string `json:"reason,omitempty"`
	// Maintenances are the names of the NodeMaintenances that the event is for.
	Maintenances []string `json:"maintenances,omitempty"`
	// Holds are the actors that have the node out of service.
	Holds []holdStatus `json:"holds,omitempty"`
	// CordonedFor are events of Slipway with a cordon of the node; CordonedByOthers names a third
	// party with a cordon.
	CordonedFor      []string `json:"cordonedFor,omitempty"`
	CordonedByOthers string   `json:"cordonedByOthers,omitempty"`
}

// holdStatus is the hold of an actor on a node.
type holdStatus struct {
	User        string      `json:"user,omitempty"`
	Actor       string      `json:"actor,omitempty"`
	Maintenance string      `json:"maintenance,omitempty"`
	Purpose     string      `json:"purpose,omitempty"`
	Event       string      `json:"event"`
	Since       metav1.Time `json:"since"`
	// Until is the expected return of the node.
	Until *metav1.Time `json:"until,omitempty"`
}

// facts are the objects of the overview. Nodes are nil for a caller that may not list them.
type facts struct {
	nodes  []*corev1.Node
	events []*lifecyclev1alpha1.LifecycleEvent
	holds  []*slipwayv1alpha1.NodeHold
}

// overview returns all nodes in or near maintenance, and all named nodes. The rest is in service.
func overview(f facts, named []string) []nodeStatus {
	nodes, events := f.nodes, f.events
	wanted := func(name string) bool { return named == nil || slices.Contains(named, name) }
	var all []nodeStatus
	for _, event := range events {
		if wanted(event.Spec.BindingNode) {
			all = append(all, ofEvent(event, cli.NodeNamed(nodes, event.Spec.BindingNode)))
		}
	}
	for _, node := range nodes {
		has := slices.ContainsFunc(all, func(s nodeStatus) bool { return s.Node == node.Name })
		held := slices.ContainsFunc(f.holds, func(h *slipwayv1alpha1.NodeHold) bool { return h.Spec.NodeName == node.Name })
		if s := ofNode(node); !has && wanted(node.Name) && (named != nil || held || s.State != state.InService) {
			all = append(all, s)
		}
	}
	for i := range all {
		all[i].addHolds(f.holds)
		all[i].addNext(cli.NodeNamed(nodes, all[i].Node))
	}
	slices.SortStableFunc(all, func(a, b nodeStatus) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(order(a.Phase), order(b.Phase)), cmp.Compare(a.Event, b.Event))
	})
	return all
}

// order puts the event first that is in progress.
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

func ofEvent(event *lifecyclev1alpha1.LifecycleEvent, node *corev1.Node) nodeStatus {
	status, wait := &event.Status, state.WaitOf(event)
	s := nodeStatus{
		Node: event.Spec.BindingNode, State: state.OfEvent(event),
		Event: event.Name, Transition: event.Spec.TransitionName, Phase: status.ClaimStatus, Progress: status.Progress,
		Waiting: wait.Reason, Message: wait.Message, Blockers: status.Blockers,
		BlockersTotal: state.BlockersOf(status),
		Outdated:      wait.Outdated || state.IsOutdated(event), Deadline: status.SLA,
		RequestedBy: event.Spec.RequestedBy, Reason: event.Spec.Reason, Until: event.Spec.Until,
		Maintenances: cli.MaintenanceNames(event.Spec.BindingNode, event),
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

// addHolds adds the holds of the node, the oldest first. They explain a node without an event.
func (s *nodeStatus) addHolds(holds []*slipwayv1alpha1.NodeHold) {
	for _, h := range holds {
		if h.Spec.NodeName == s.Node {
			s.Holds = append(s.Holds, holdStatus{
				User: h.Spec.User, Actor: h.Spec.Actor, Maintenance: h.Spec.Maintenance, Purpose: h.Spec.Purpose,
				Event: h.Spec.EventName, Since: h.CreationTimestamp, Until: h.Spec.Until,
			})
		}
	}
	slices.SortFunc(s.Holds, func(a, b holdStatus) int { return cmp.Or(a.Since.Compare(b.Since.Time), cmp.Compare(a.Event, b.Event)) })
	if s.Event != "" || len(s.Holds) == 0 {
		return
	}
	s.Reason, s.Since = s.Holds[0].Purpose, &s.Holds[0].Since
	for _, h := range s.Holds {
		if h.Until != nil && (s.Until == nil || h.Until.Before(s.Until)) {
			s.Until = h.Until
		}
	}
}

// addNext adds the next step of a node that is out of service, or is about to be. The obstacles of an event are not part of it.
func (s *nodeStatus) addNext(node *corev1.Node) {
	out, inWork := node != nil && node.Spec.Unschedulable, s.Event != "" && !s.Phase.Terminal()
	drains := slices.Contains([]state.State{state.Draining, state.Blocked, state.Stalled}, s.State)
	switch {
	case s.State == state.GoingDown:
		s.Next = "returns when its machine has booted"
	case drains && (!inWork || s.Transition == lifecyclev1alpha1.DrainTransition):
		s.Next = "after the drain, " + s.way(node)
	case out && (!inWork || s.State == state.Waiting && len(s.Holds) > 0):
		s.Next = s.way(node)
	}
}

// way returns the way of a drained node back to service.
func (s *nodeStatus) way(node *corev1.Node) string {
	byUsers := slices.ContainsFunc(s.Holds, func(h holdStatus) bool { return h.Maintenance == "" })
	switch {
	case len(s.Holds) > 0 && !byUsers:
		return ofMaintenance(s.holders(), node)
	case len(s.Holds) > 0:
		return "waits for uncordon by " + s.holders() + planned(node)
	case len(s.Maintenances) > 0:
		return ofMaintenance(s.who(), node)
	case s.Event != "" && s.RequestedBy != "":
		return "waits for uncordon by " + s.RequestedBy + planned(node)
	case s.CordonedByOthers != "":
		return "waits for 'kubectl uncordon'"
	default:
		return "waits for 'kubectl slipway uncordon'"
	}
}

// ofMaintenance returns the way of a node that a maintenance has out of service.
func ofMaintenance(name string, node *corev1.Node) string {
	if node != nil {
		records, _ := maintenance.RecordsOn(node) // Slipway writes no record that it cannot read
		if slices.ContainsFunc(records, func(r maintenance.Record) bool { return r.State == maintenance.RecordFailed }) {
			return name + " has failed on it, and keeps it until a person decides"
		}
	}
	return name + " works on it, and returns it"
}

// planned names the maintenances that wait for a node.
func planned(node *corev1.Node) string {
	if node == nil {
		return ""
	}
	if c := state.NodeCondition(node, maintenance.NodeMaintenancePlanned); c != nil && c.Status == corev1.ConditionTrue {
		return "; then maintenance " + c.Message
	}
	return ""
}

func (s *nodeStatus) addCordons(node *corev1.Node) {
	if node == nil {
		return
	}
	ours, others := nodestate.Cordons(node)
	for _, owner := range ours { // an event of the same name is named once
		if !slices.Contains(s.CordonedFor, owner.Event) {
			s.CordonedFor = append(s.CordonedFor, owner.Event)
		}
	}
	if others != nil {
		s.CordonedByOthers = cmp.Or(others.By, "an unknown party")
	}
}

// ofNode returns the status of a node that has no event. The condition of its last event has
// the reason of its cordon.
func ofNode(node *corev1.Node) nodeStatus {
	s := nodeStatus{Node: node.Name, State: state.OfNode(node)}
	s.addCordons(node)
	if s.State == state.InService {
		return s
	}
	ours, others := nodestate.Cordons(node)
	last := state.NodeCondition(node, lifecyclev1alpha1.NodeConditionLifecycleTransition)
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
