// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// The limits of a status, in entries and in bytes: with them, that of any number of nodes is
// under 256 KiB.
const (
	maxListed      = 100
	maxNodeMessage = 512
	maxMessage     = 1024
)

// report says how far a maintenance is, if that is not what its status says.
func (p *pass) report(m *maintained) {
	status := m.Status.DeepCopy()
	status.ObservedGeneration = m.Generation
	p.fillPlaces(m)
	p.stages(m, status)
	status.Nodes = m.count()
	status.NodeStatuses = m.listed()
	p.drainStatus(m, status)
	p.conditions(m, status)
	status.Message = reasons.Shorten(m.message(status), maxMessage)
	if equality.Semantic.DeepEqual(*status, m.Status) {
		return
	}
	p.decision.Statuses[m.UID] = *status
	p.tell(m, status)
}

// fillPlaces says where the nodes are that are not out.
func (p *pass) fillPlaces(m *maintained) {
	for _, n := range m.selected {
		if _, found := m.places[n.name]; found {
			continue
		}
		r := n.recordOf(m)
		switch {
		case r != nil && r.State == RecordFailed:
			p.failedPlace(n, m)
		case r != nil:
			p.at(n, m.UID, slipwayv1alpha1.NodeReturned, reasoned{}, r.At)
		default:
			why, held := n.heldBack(m)
			if !held && m.works() {
				why = p.waitsForLease(n)
			}
			m.places[n.name] = place{phase: slipwayv1alpha1.NodeWaiting, reasoned: why}
		}
	}
}

// stages notes those that have begun: also those that were skipped (KEP-4212).
func (p *pass) stages(m *maintained, status *slipwayv1alpha1.NodeMaintenanceStatus) {
	if m.Spec.Stage == "" || m.DeletionTimestamp != nil && !m.finalized() || !m.began(m.Spec.Stage).IsZero() {
		return
	}
	status.StageStatuses = append(status.StageStatuses, slipwayv1alpha1.MaintenanceStageStatus{Name: m.Spec.Stage, StartTimestamp: p.second()})
}

func (m *maintained) count() slipwayv1alpha1.MaintenanceNodeCounts {
	counts := slipwayv1alpha1.MaintenanceNodeCounts{Selected: int32(len(m.selected))}
	for _, at := range m.places {
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

// listed are the nodes that need attention, and then those that are out.
func (m *maintained) listed() []slipwayv1alpha1.MaintenanceNodeStatus {
	names := slices.SortedFunc(maps.Keys(m.places), func(a, b string) int {
		return cmp.Or(cmp.Compare(urgency(m.places[a]), urgency(m.places[b])), strings.Compare(a, b))
	})
	var all []slipwayv1alpha1.MaintenanceNodeStatus
	for _, name := range names {
		at := m.places[name]
		if len(all) == maxListed || urgency(at) == notListed {
			break
		}
		s := slipwayv1alpha1.MaintenanceNodeStatus{Name: name, Phase: at.phase, Reason: at.reason, Message: reasons.Shorten(at.message, maxNodeMessage)}
		if !at.since.IsZero() {
			s.Since = &metav1.Time{Time: at.since}
		}
		all = append(all, s)
	}
	return all
}

const notListed = 9

// urgency is low where somebody should look.
func urgency(at place) int {
	if at.reason == slipwayv1alpha1.ReasonStepRefused {
		return 1
	}
	switch at.phase {
	case slipwayv1alpha1.NodeFailed:
		return 0
	case slipwayv1alpha1.NodeHeld, slipwayv1alpha1.NodeUnhealthy:
		return 1
	case slipwayv1alpha1.NodeReturned:
		return notListed
	case slipwayv1alpha1.NodeWaiting:
		if at.reason == "" {
			return notListed
		}
	default:
	}
	if at.reason != "" {
		return 2
	}
	return 3
}

// drainStatus says how far the drain plan is.
func (p *pass) drainStatus(m *maintained, status *slipwayv1alpha1.NodeMaintenanceStatus) {
	if m.Spec.Stage != slipwayv1alpha1.StageDrain {
		status.DrainStatus = nil
		return
	}
	drain := &slipwayv1alpha1.MaintenanceDrainStatus{}
	progress, found := p.progress(m)
	for _, at := range m.places {
		drain.PodsPending += at.pods
	}
	if found {
		drain.ReachedDrainTargets = progress.Reached
		drain.DrainMessage = reasons.Shorten(readable(progress.Message), maxMessage)
	} else if status.DrainStatus != nil {
		drain.ReachedDrainTargets = status.DrainStatus.ReachedDrainTargets
	}
	status.DrainStatus = drain
}

// message says in a line what is going on.
func (m *maintained) message(status *slipwayv1alpha1.NodeMaintenanceStatus) string {
	c := apimeta.FindStatusCondition(status.Conditions, slipwayv1alpha1.MaintenanceProgressing)
	counts := fmt.Sprintf("nodes: %d of %d out, %d returned, %d failed", status.Nodes.Out, status.Nodes.Selected, status.Nodes.Returned, status.Nodes.Failed)
	if c == nil || c.Message == "" {
		return counts
	}
	return counts + "; " + c.Message
}
