// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// stage keeps the finalizer of a maintenance: from before its first node begins until, after
// its deletion, nothing of it is left (KEP-4212). One that never left Idle has none.
func (p *pass) stage(m *maintained) {
	changed := m.DeepCopy()
	has := m.finalized()
	switch {
	case m.DeletionTimestamp == nil && m.Spec.Stage != slipwayv1alpha1.StageIdle && m.Spec.Stage != "" && !has:
		changed.Finalizers = append(changed.Finalizers, slipwayv1alpha1.MaintenanceFinalizer)
	case m.DeletionTimestamp != nil && has && m.Spec.Stage != slipwayv1alpha1.StageComplete:
		changed.Spec.Stage = slipwayv1alpha1.StageComplete
	case m.DeletionTimestamp != nil && has && !p.leavesTraces(m):
		changed.Finalizers = slices.DeleteFunc(changed.Finalizers, func(f string) bool { return f == slipwayv1alpha1.MaintenanceFinalizer })
	default:
		return
	}
	p.do(ChangeMaintenance{Seen: m.NodeMaintenance, Changed: changed})
}

func (m *maintained) finalized() bool {
	return slices.Contains(m.Finalizers, slipwayv1alpha1.MaintenanceFinalizer)
}

// leavesTraces says whether a maintenance that is being deleted still has a node out, a
// record or a Job.
func (p *pass) leavesTraces(m *maintained) bool {
	for _, n := range p.nodes {
		if p.outFor(n, m) || rawRecord(n.Records, m.UID) != nil {
			return true
		}
	}
	for _, j := range p.facts.Jobs {
		if isOurs(j) && ownerOf(j) == m.UID {
			return true
		}
	}
	return false
}

// outFor says whether the node is out for a maintenance, or on its way back from it.
func (p *pass) outFor(n *node, m *maintained) bool { return entryOf(n.fors, m.UID) != nil }
