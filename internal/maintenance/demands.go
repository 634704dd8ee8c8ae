// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// Maintenances that share a drain have one set of parameters: in each field, the demand that is stricter for Slipway, and so
// milder for the pods. docs/maintenance.md has the table. A maintenance without spec.drain demands the defaults.

// demandOf returns the demand of a maintenance.
func demandOf(m *slipwayv1alpha1.NodeMaintenance) slipwayv1alpha1.MaintenanceDrain {
	if m.Spec.Drain == nil {
		return slipwayv1alpha1.MaintenanceDrain{}
	}
	return *m.Spec.Drain.DeepCopy()
}

// demands returns the joined demand of the maintenances of a drain.
func (p *plan) demands(n *node) slipwayv1alpha1.MaintenanceDrain {
	var joined *slipwayv1alpha1.MaintenanceDrain
	for _, ref := range p.outFor(n) {
		m := p.byUID[ref.UID]
		if m == nil {
			continue
		}
		demand := demandOf(m.NodeMaintenance)
		if joined != nil {
			demand = join(*joined, demand)
		}
		joined = &demand
	}
	if joined == nil {
		return slipwayv1alpha1.MaintenanceDrain{}
	}
	return *joined
}

// join returns the stricter demand, field by field.
func join(a, b slipwayv1alpha1.MaintenanceDrain) slipwayv1alpha1.MaintenanceDrain {
	const usualVolumeTimeout = 2 * time.Minute
	joined := a
	if strictness[b.Mode] > strictness[a.Mode] {
		joined.Mode = b.Mode
	}
	if b.UnmanagedPods == slipwayv1alpha1.PodPolicyRefuse {
		joined.UnmanagedPods = b.UnmanagedPods
	}
	if b.LocalStorage == slipwayv1alpha1.PodPolicyRefuse {
		joined.LocalStorage = b.LocalStorage
	}
	// Unset is the pod's own grace period.
	if b.GracePeriodSeconds == nil || a.GracePeriodSeconds != nil && *b.GracePeriodSeconds > *a.GracePeriodSeconds {
		joined.GracePeriodSeconds = b.GracePeriodSeconds
	}
	joined.PodTimeout = later(a.PodTimeout, b.PodTimeout)
	if volumeTimeout := func(d *metav1.Duration) time.Duration {
		if d == nil {
			return usualVolumeTimeout
		}
		return d.Duration
	}; volumeTimeout(b.VolumeTimeout) > volumeTimeout(a.VolumeTimeout) {
		joined.VolumeTimeout = b.VolumeTimeout
	}
	joined.Escalation = nil
	if a.Escalation != nil && b.Escalation != nil {
		joined.Escalation = &slipwayv1alpha1.DrainEscalation{
			DeleteAfter: later(a.Escalation.DeleteAfter, b.Escalation.DeleteAfter), KillAfter: later(a.Escalation.KillAfter, b.Escalation.KillAfter),
		}
		if *joined.Escalation == (slipwayv1alpha1.DrainEscalation{}) {
			joined.Escalation = nil
		}
	}
	return joined
}

// strictness orders the modes. Unset is Auto.
var strictness = map[slipwayv1alpha1.DrainMode]int{slipwayv1alpha1.DrainEviction: -1, slipwayv1alpha1.DrainEvictionRequest: 1}

// later returns the later of two times after which a drain gives up its patience. Unset and 0 mean never.
func later(a, b *metav1.Duration) *metav1.Duration {
	switch {
	case a == nil || a.Duration == 0 || b == nil || b.Duration == 0:
		return nil
	case b.Duration > a.Duration:
		return b
	default:
		return a
	}
}

// contradicts returns the cause for which a maintenance cannot share the drain of a node: one wants only responders to evict,
// and another one only the drain.
func (s *selection) contradicts(n *node, m *maintenance) cause {
	mode := demandOf(m.NodeMaintenance).Mode
	for _, ref := range s.outFor(n) {
		other := s.byUID[ref.UID]
		if other == nil || ref.UID == m.UID {
			continue
		}
		if theirs := demandOf(other.NodeMaintenance).Mode; strictness[mode]*strictness[theirs] < 0 {
			return cause{slipwayv1alpha1.ReasonWaitingForOthers, fmt.Sprintf(
				"spec.drain.mode %s contradicts %s of NodeMaintenance %s, which has the node: this maintenance begins after it", mode, theirs, other.Name)}
		}
	}
	return cause{}
}
