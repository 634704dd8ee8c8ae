// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"slices"
	"time"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// judge finds the nodes of a maintenance, and whether any of them may begin.
func (p *pass) judge(m *maintained) {
	controlPlanes, ours := 0, 0
	for _, n := range p.nodes {
		selected := m.selects(n) && n.exists()
		if selected {
			m.selected = append(m.selected, n)
		}
		if n.exists() && n.controlPlane() {
			controlPlanes++
			if selected {
				ours++
			}
		}
	}
	m.refusal = m.refused(controlPlanes, ours)
	m.holdUp = p.heldUp(m)
}

// refused is why nothing is done for the maintenance, whatever its stage. A node that is
// out by then goes its way.
func (m *maintained) refused(controlPlanes, ours int) reasoned {
	if m.invalid != nil {
		return reasoned{
			slipwayv1alpha1.ReasonInvalidSelector,
			fmt.Sprintf("spec.nodeSelector: %v", m.invalid),
		}
	}
	// A cluster with one such node has no control plane left either.
	if m.Spec.Rollout == nil && controlPlanes > 0 && ours == controlPlanes &&
		!slices.Contains(m.Spec.Allow, slipwayv1alpha1.GuardAllControlPlaneNodes) {
		return reasoned{
			slipwayv1alpha1.ReasonAllControlPlaneNodes,
			fmt.Sprintf("spec.nodeSelector selects all nodes of the control plane (%d), and without spec.rollout they would be out "+
				"at the same time; spec.allow: [%s] lets it", controlPlanes, slipwayv1alpha1.GuardAllControlPlaneNodes),
		}
	}
	return reasoned{}
}

// heldUp is why none of the nodes that wait begins. It has Next asked again when a time is
// what holds them up.
func (p *pass) heldUp(m *maintained) reasoned {
	switch {
	case m.returns():
		return reasoned{slipwayv1alpha1.ReasonCompleted, "no more nodes begin, and those that are out return"}
	case !m.works():
		return reasoned{slipwayv1alpha1.ReasonIdle, "nothing is done in stage Idle"}
	case !m.finalized():
		return reasoned{slipwayv1alpha1.ReasonRunning, "the finalizer comes first"}
	case m.refusal.reason != "":
		return m.refusal
	case m.Spec.Rollout != nil && !m.drains():
		return reasoned{slipwayv1alpha1.ReasonIdle, "spec.rollout begins with stage Drain"}
	case m.Spec.Paused:
		return reasoned{slipwayv1alpha1.ReasonPaused, "spec.paused is true"}
	}
	if held := p.outsideWindow(m); held.reason != "" {
		return held
	}
	if template := m.template(); template != "" && p.facts.Templates[template] == nil {
		return p.noTemplate(template)
	}
	return reasoned{}
}

func (p *pass) noTemplate(name string) reasoned {
	return reasoned{
		slipwayv1alpha1.ReasonJobInvalid,
		fmt.Sprintf("spec.work.podTemplate: there is no PodTemplate %q in namespace %q", name, p.facts.Namespace),
	}
}

// outsideWindow is why nodes do not begin now, if it is because of the time.
func (p *pass) outsideWindow(m *maintained) reasoned {
	if at := m.notBefore(); p.now.Before(at) {
		p.wakeAt(at)
		return reasoned{slipwayv1alpha1.ReasonBeforeWindow, "spec.window.notBefore is " + stamp(at)}
	}
	if at := m.deadline(); !at.IsZero() {
		p.wakeAt(at)
		if !p.now.Before(at) {
			return reasoned{slipwayv1alpha1.ReasonWindowOver, "spec.window.deadline was " + stamp(at)}
		}
	}
	return reasoned{}
}

// notBefore is zero without one.
func (m *maintained) notBefore() time.Time {
	if w := m.Spec.Window; w != nil && w.NotBefore != nil {
		return w.NotBefore.Time
	}
	return time.Time{}
}

// deadline is zero without one.
func (m *maintained) deadline() time.Time {
	if w := m.Spec.Window; w != nil && w.Deadline != nil {
		return w.Deadline.Time
	}
	return time.Time{}
}

// cancels says whether drains that have not ended are given up now: the window is over.
func (p *pass) cancels(m *maintained) bool {
	at := m.deadline()
	return !at.IsZero() && !p.now.Before(at) && m.Spec.Window.AtDeadline == slipwayv1alpha1.CancelAtDeadline
}

// template is the PodTemplate that the maintenance needs; empty, if it needs none.
func (m *maintained) template() string {
	if m.Spec.Rollout == nil || m.Spec.Work == nil || m.Spec.Work.Type != slipwayv1alpha1.WorkJob {
		return ""
	}
	return m.Spec.Work.PodTemplate
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
