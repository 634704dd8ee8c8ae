// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"maps"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// conditions says whether a maintenance is accepted, moves, is drained and is over.
func (p *pass) conditions(m *maintained, status *slipwayv1alpha1.NodeMaintenanceStatus) {
	set := func(kind string, is bool, why reasoned) {
		value := metav1.ConditionFalse
		if is {
			value = metav1.ConditionTrue
		}
		p.setCondition(m, status, metav1.Condition{Type: kind, Status: value, Reason: why.reason, Message: reasons.Shorten(why.message, maxMessage)})
	}
	if m.refusal.reason != "" {
		set(slipwayv1alpha1.MaintenanceAccepted, false, m.refusal)
	} else {
		set(slipwayv1alpha1.MaintenanceAccepted, true, reasoned{reason: slipwayv1alpha1.ReasonAccepted})
	}
	completed, why := p.completed(m, status.Nodes)
	set(slipwayv1alpha1.MaintenanceCompleted, completed, why)
	drained, why := m.drainedAll(status.Nodes)
	set(slipwayv1alpha1.MaintenanceDrained, drained, why)
	moves, why := m.progressing(status.Nodes, completed)
	set(slipwayv1alpha1.MaintenanceProgressing, moves, why)
}

// setCondition keeps the time of a condition that says the same as before.
func (p *pass) setCondition(m *maintained, status *slipwayv1alpha1.NodeMaintenanceStatus, c metav1.Condition) {
	c.ObservedGeneration, c.LastTransitionTime = m.Generation, p.second()
	if have := apimeta.FindStatusCondition(status.Conditions, c.Type); have != nil {
		if have.Status == c.Status {
			c.LastTransitionTime = have.LastTransitionTime
		}
		*have = c
		return
	}
	status.Conditions = append(status.Conditions, c)
}

// completed says whether no node needs anything any more.
func (p *pass) completed(m *maintained, counts slipwayv1alpha1.MaintenanceNodeCounts) (bool, reasoned) {
	away := p.away(m)
	switch {
	case m.returns() && away == 0:
		return true, reasoned{slipwayv1alpha1.ReasonCompleted, fmt.Sprintf("no node is out; %s done with, %d failed, %d not begun",
			are(int(counts.Returned)), counts.Failed, counts.Waiting)}
	case m.returns():
		return false, reasoned{slipwayv1alpha1.ReasonRunning, are(away) + " out"}
	case !m.works():
		return false, reasoned{slipwayv1alpha1.ReasonIdle, ""}
	case counts.Selected == 0:
		return false, nothingSelected
	case m.Spec.Rollout != nil && counts.Waiting+counts.Out+counts.Failed == 0:
		return true, reasoned{slipwayv1alpha1.ReasonCompleted, are(int(counts.Returned)) + " done with"}
	case counts.Out == 0 && (counts.Waiting == 0 || m.holdUp.reason == slipwayv1alpha1.ReasonWindowOver):
		return false, reasoned{slipwayv1alpha1.ReasonIncomplete, fmt.Sprintf("%d failed, %d not begun", counts.Failed, counts.Waiting)}
	default:
		return false, reasoned{slipwayv1alpha1.ReasonRunning, fmt.Sprintf("%s out, %d waiting", are(int(counts.Out)), counts.Waiting)}
	}
}

// away counts the nodes that are out for a maintenance, whatever has happened to them, but
// for those that cannot be put back.
func (p *pass) away(m *maintained) (count int) {
	for _, n := range p.nodes {
		r := rawRecord(n.Records, m.UID)
		if entryOf(n.fors, m.UID) != nil && p.goesBackFor(n, m) || len(n.fors) == 0 && r != nil && n.cordonedFor(*r) && !m.givenUp(*r) {
			count++
		}
	}
	return count
}

// goesBackFor says whether the node is not kept out by others: then it is not this
// maintenance's any more.
func (p *pass) goesBackFor(n *node, m *maintained) bool {
	return m.places[n.name].phase != slipwayv1alpha1.NodeReturned
}

var nothingSelected = reasoned{slipwayv1alpha1.ReasonNoNodes, "spec.nodeSelector selects no node"}

// are counts nodes, as the subject of a sentence.
func are(count int) string {
	if count == 1 {
		return "1 node is"
	}
	return fmt.Sprintf("%d nodes are", count)
}

// drainedAll says whether all nodes are drained that are to be (KEP-4212).
func (m *maintained) drainedAll(counts slipwayv1alpha1.MaintenanceNodeCounts) (bool, reasoned) {
	gone := counts.Drained + counts.Returned
	switch {
	case m.Spec.Stage == slipwayv1alpha1.StageIdle || m.Spec.Stage == "" || m.Spec.Stage == slipwayv1alpha1.StageCordon:
		return false, reasoned{slipwayv1alpha1.ReasonIdle, ""}
	case counts.Selected == 0:
		return false, nothingSelected
	case m.returns():
		return false, reasoned{slipwayv1alpha1.ReasonCompleted, ""}
	case gone == counts.Selected:
		return true, reasoned{slipwayv1alpha1.ReasonDrained, ""}
	default:
		return false, reasoned{slipwayv1alpha1.ReasonDraining, fmt.Sprintf("drained: %d of %d nodes", gone, counts.Selected)}
	}
}

// stuck are the reasons for which a node goes no step further until somebody does something.
var stuck = map[string]bool{
	slipwayv1alpha1.ReasonStepRefused: true, slipwayv1alpha1.ReasonJobRefused: true,
	string(lifecyclev1alpha1.GuardLastSchedulableNode): true, string(lifecyclev1alpha1.GuardSecondControlPlaneNode): true,
}

// stands is why none of the nodes that are out moves: the first of those that somebody must
// look at, if the others wait for these.
func (m *maintained) stands() (why reasoned) {
	for _, name := range slices.Sorted(maps.Keys(m.places)) {
		switch at := m.places[name]; {
		case at.phase == slipwayv1alpha1.NodeWaiting || at.phase == slipwayv1alpha1.NodeReturned:
		case at.phase == slipwayv1alpha1.NodeFailed && at.reason != slipwayv1alpha1.ReasonStepRefused:
		case stuck[at.reason] && why.reason == "":
			why = reasoned{at.reason, fmt.Sprintf("node %s: %s", name, at.message)}
		case !stuck[at.reason] && !at.inStep:
			return reasoned{}
		}
	}
	return why
}

// progressing says whether anything moves, and why not.
func (m *maintained) progressing(counts slipwayv1alpha1.MaintenanceNodeCounts, completed bool) (bool, reasoned) {
	switch {
	case completed:
		return false, reasoned{slipwayv1alpha1.ReasonCompleted, ""}
	case m.refusal.reason != "" && counts.Out == 0 && m.works():
		return false, m.refusal
	case counts.Selected == 0 && counts.Out == 0 && m.works():
		return false, nothingSelected
	case m.Spec.Paused && m.works():
		return false, reasoned{slipwayv1alpha1.ReasonPaused, "spec.paused is true"}
	case m.deadlock.reason != "":
		return m.deadlock.reason == slipwayv1alpha1.ReasonDeadlockHeldBack, m.deadlock
	case m.stands().reason != "":
		return false, m.stands()
	case m.holdUp.reason != "" && counts.Out == 0:
		return false, m.holdUp
	case m.holdUp.reason != "":
		return true, reasoned{slipwayv1alpha1.ReasonRunning, m.holdUp.message}
	case m.rollout.Reason != "" && counts.Out == 0 && len(m.rollout.Begin) == 0:
		return false, reasoned{m.rollout.Reason, m.rollout.Message}
	case counts.Out == 0 && counts.Waiting == 0:
		return false, reasoned{slipwayv1alpha1.ReasonIncomplete, fmt.Sprintf("%d failed", counts.Failed)}
	default:
		return true, reasoned{slipwayv1alpha1.ReasonRunning, m.rollout.Message}
	}
}
