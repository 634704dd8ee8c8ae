// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// These limits, in entries and in bytes, keep the status of any number of nodes under 256 KiB.
const (
	maxListed      = 100
	maxNodeMessage = 512
	maxMessage     = 1024
)

// report has the sources of the status of a maintenance.
type report struct {
	*maintenance
	turn
	// nodes are the statuses of the selected nodes, and of further nodes out of service, by name.
	nodes map[string]nodeStatus
	// deadlock is a deadlock of its nodes.
	deadlock cause
	// away counts the nodes that have yet to return.
	away int
}

// reportOn collects the statuses of the nodes of a maintenance.
func (p *plan) reportOn(m *maintenance, outcomes map[string]outcome) report {
	r := report{maintenance: m, turn: *p.of[m.UID], nodes: map[string]nodeStatus{}, deadlock: p.deadlocks.of[m.UID]}
	for name, o := range outcomes {
		if s, found := o.statuses[m.UID]; found {
			r.nodes[name] = s
		}
	}
	for _, n := range m.selected {
		if _, found := r.nodes[n.name]; !found {
			r.nodes[n.name] = p.statusOf(n, m)
		}
	}
	for _, n := range p.nodes {
		old := rawRecord(n.Records, m.UID)
		switch {
		case refOf(n.refs, m.UID) != nil && r.nodes[n.name].phase != slipwayv1alpha1.NodeReturned: // otherwise other maintenances keep it
			r.away++
		case len(n.refs) == 0 && old != nil && n.cordonedFor(*old) && !m.givenUp(*old):
			r.away++
		}
	}
	return r
}

// statusOf returns the status of a node in service.
func (p *plan) statusOf(n *node, m *maintenance) nodeStatus {
	r := n.recordOf(m)
	if failed, is := failedStatus(r); is {
		return p.refine(n, m.UID, failed)
	}
	if r != nil {
		return p.refine(n, m.UID, nodeStatus{phase: slipwayv1alpha1.NodeReturned, since: r.At})
	}
	why := n.yielding(m)
	switch {
	case why.reason != "":
	case m.works():
		if why = p.contradicts(n, m); why.reason == "" {
			why = p.waitsForOthers(n)
		}
	case m.neverBegan() && n.Spec.Unschedulable && len(n.refs) == 0:
		why = n.leftAlone()
	}
	return nodeStatus{phase: slipwayv1alpha1.NodeWaiting, cause: why}
}

// leftAlone returns the cause of a node that stays cordoned, although a maintenance that never began is Complete. The
// cordon protects work of its owner, so this deviates from KEP-4212, which makes the node schedulable.
func (n *node) leftAlone() cause {
	return cause{slipwayv1alpha1.ReasonNodeCordoned, fmt.Sprintf("the node stays cordoned: this maintenance has not cordoned it. "+
		"For the owner of the cordon and the remedy, run kubectl slipway explain %s", n.name)}
}

// status returns the new status of a maintenance.
func (p *plan) status(r report) slipwayv1alpha1.NodeMaintenanceStatus {
	m, status := r.maintenance, r.Status.DeepCopy()
	status.ObservedGeneration = m.Generation
	// The status lists each stage with the time of its first observation (KEP-4212).
	if m.Spec.Stage != "" && (m.DeletionTimestamp == nil || m.finalized()) && m.began(m.Spec.Stage).IsZero() {
		status.StageStatuses = append(status.StageStatuses, slipwayv1alpha1.MaintenanceStageStatus{Name: m.Spec.Stage, StartTimestamp: p.second()})
	}
	status.Nodes = r.count()
	status.NodeStatuses = r.listed()
	status.DrainStatus = p.drainStatus(r)
	r.setConditions(status, p.second())
	status.Message = fmt.Sprintf("nodes: %d of %d out, %d returned, %d failed", status.Nodes.Out, status.Nodes.Selected, status.Nodes.Returned, status.Nodes.Failed)
	if c := apimeta.FindStatusCondition(status.Conditions, slipwayv1alpha1.MaintenanceProgressing); c != nil && c.Message != "" {
		status.Message += "; " + c.Message
	}
	status.Message = reasons.Shorten(status.Message, maxMessage)
	return *status
}

func (r report) count() slipwayv1alpha1.MaintenanceNodeCounts {
	counts := slipwayv1alpha1.MaintenanceNodeCounts{Selected: int32(len(r.selected))}
	for _, at := range r.nodes {
		switch at.phase {
		case slipwayv1alpha1.NodeWaiting:
			counts.Waiting++
		case slipwayv1alpha1.NodeReturned:
			counts.Returned++
		case slipwayv1alpha1.NodeFailed:
			counts.Failed++
		default:
			counts.Out++
			if at.drained {
				counts.Drained++
			}
		}
	}
	return counts
}

// listed returns the nodes that need attention, and then the remaining nodes that are out of service.
func (r report) listed() []slipwayv1alpha1.MaintenanceNodeStatus {
	names := slices.SortedFunc(maps.Keys(r.nodes), func(a, b string) int {
		return cmp.Or(cmp.Compare(urgency(r.nodes[a]), urgency(r.nodes[b])), strings.Compare(a, b))
	})
	var all []slipwayv1alpha1.MaintenanceNodeStatus
	for _, name := range names {
		at := r.nodes[name]
		if len(all) == maxListed || urgency(at) == notListed {
			break
		}
		s := slipwayv1alpha1.MaintenanceNodeStatus{Name: name, Phase: at.phase, Reason: at.reason, PodsEvacuating: at.pods, Message: reasons.Shorten(at.message, maxNodeMessage)}
		if !at.since.IsZero() {
			s.Since = &metav1.Time{Time: at.since}
		}
		all = append(all, s)
	}
	return all
}

const notListed = 9

// urgency orders the nodes of a status: first the nodes that need an administrator.
func urgency(at nodeStatus) int {
	order, ordered := urgencies[at.phase]
	switch {
	case at.reason == slipwayv1alpha1.ReasonStepRefused:
		return 1
	case ordered:
		return order
	case at.reason != "":
		return 2
	case at.phase == slipwayv1alpha1.NodeWaiting:
		return notListed
	default:
		return 3
	}
}

var urgencies = map[slipwayv1alpha1.MaintenanceNodePhase]int{
	slipwayv1alpha1.NodeFailed: 0, slipwayv1alpha1.NodeHeld: 1, slipwayv1alpha1.NodeUnhealthy: 1, slipwayv1alpha1.NodeReturned: notListed,
}

// drainStatus returns the progress of the drain plan.
func (p *plan) drainStatus(r report) *slipwayv1alpha1.MaintenanceDrainStatus {
	if r.Spec.Stage != slipwayv1alpha1.StageDrain {
		return nil
	}
	drain := &slipwayv1alpha1.MaintenanceDrainStatus{}
	progress, found := p.progress(r.maintenance, r.nodes)
	for _, s := range r.nodes {
		drain.PodsPending += s.pods
	}
	if found {
		drain.ReachedDrainTargets = progress.Reached
		drain.DrainMessage = reasons.Shorten(readable(progress.Message), maxMessage)
	} else if r.Status.DrainStatus != nil {
		drain.ReachedDrainTargets = r.Status.DrainStatus.ReachedDrainTargets
	}
	return drain
}

// Reasons of core Events about a maintenance.
const (
	// ReasonNodeUncordoned: a third party has uncordoned a node during its drain. The drain cordons it
	// again, at once and then at growing intervals.
	ReasonNodeUncordoned = "NodeUncordoned"
	// ReasonNodeFailed: a node has failed.
	ReasonNodeFailed = "NodeFailed"
	// ReasonFastForwarded: the drain of a node exceeded the first step of the maintenance.
	ReasonFastForwarded = "FastForwarded"
	// ReasonStageBegan: a stage has begun.
	ReasonStageBegan = "StageBegan"
)

// uncordoned is the message of a node that a third party has uncordoned during its drain.
const uncordoned = "a third party has uncordoned the node during its drain, which cordons it again"

// announce returns the core Events for the changes of a status.
func (m *maintenance) announce(status slipwayv1alpha1.NodeMaintenanceStatus) (steps []Step) {
	tell := func(warning bool, reason, message string) {
		steps = append(steps, Tell{About: m.NodeMaintenance, Warning: warning, Reason: reason, Message: reasons.Shorten(message, maxMessage)})
	}
	for _, s := range status.StageStatuses[len(m.Status.StageStatuses):] {
		if s.Name != slipwayv1alpha1.StageIdle {
			tell(false, ReasonStageBegan, fmt.Sprintf("stage %s began", s.Name))
		}
	}
	before := map[string]slipwayv1alpha1.MaintenanceNodeStatus{}
	for _, s := range m.Status.NodeStatuses {
		before[s.Name] = s
	}
	for _, s := range status.NodeStatuses {
		old := before[s.Name]
		switch {
		case s.Phase == slipwayv1alpha1.NodeFailed && old.Phase != s.Phase:
			tell(true, ReasonNodeFailed, fmt.Sprintf("node %s: %s: %s", s.Name, s.Reason, s.Message))
		case announced[s.Reason] && old.Reason != s.Reason:
			tell(true, s.Reason, fmt.Sprintf("node %s: %s", s.Name, s.Message))
		}
	}
	if apimeta.IsStatusConditionTrue(status.Conditions, slipwayv1alpha1.MaintenanceCompleted) &&
		!apimeta.IsStatusConditionTrue(m.Status.Conditions, slipwayv1alpha1.MaintenanceCompleted) {
		tell(false, slipwayv1alpha1.ReasonCompleted, status.Message)
	}
	return steps
}

// announced are the reasons of nodes for which announce returns a warning.
var announced = map[string]bool{
	ReasonNodeUncordoned: true, slipwayv1alpha1.ReasonStepRefused: true,
	slipwayv1alpha1.ReasonDeadlock: true, slipwayv1alpha1.ReasonDeadlockHeldBack: true,
}

// keepFinalizer adds the finalizer of a maintenance before its first node begins, and removes it when, after its
// deletion, the maintenance has no traces left (KEP-4212). A maintenance that never left Idle has no finalizer.
func (v *view) keepFinalizer(m *maintenance) []Step {
	changed := m.DeepCopy()
	has := m.finalized()
	switch {
	case m.DeletionTimestamp == nil && m.Spec.Stage != slipwayv1alpha1.StageIdle && m.Spec.Stage != "" && !has:
		changed.Finalizers = append(changed.Finalizers, slipwayv1alpha1.MaintenanceFinalizer)
	case m.DeletionTimestamp != nil && has && m.Spec.Stage != slipwayv1alpha1.StageComplete:
		changed.Spec.Stage = slipwayv1alpha1.StageComplete
	case m.DeletionTimestamp != nil && has && !v.hasTraces(m):
		changed.Finalizers = without(changed.Finalizers, slipwayv1alpha1.MaintenanceFinalizer)
	default:
		return nil
	}
	return []Step{ChangeMaintenance{Seen: m.NodeMaintenance, Changed: changed}}
}

// hasTraces reports whether a maintenance still has a node out of service, a record or a Job.
func (v *view) hasTraces(m *maintenance) bool {
	return slices.ContainsFunc(v.nodes, func(n *node) bool {
		return refOf(n.refs, m.UID) != nil || rawRecord(n.Records, m.UID) != nil
	}) || slices.ContainsFunc(v.facts.Jobs, func(j *batchv1.Job) bool { return isOurs(j) && ownerOf(j) == m.UID })
}
