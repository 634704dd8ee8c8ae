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
	for _, n := range p.nodes {
		if m.selects(n) && n.exists() {
			m.selected = append(m.selected, n)
		}
	}
	m.refusal = m.refused(p.controlPlane(m))
	m.holdUp = p.heldUp(m)
	p.findUnleased(m)
}

// controlPlaneNodes counts the nodes of the control plane.
type controlPlaneNodes struct {
	// all that there are; ours are those that the maintenance selects, and others further
	// ones, which another has out or is to take out while this one has not begun.
	all, ours, others int
}

func (p *pass) controlPlane(m *maintained) (c controlPlaneNodes) {
	begun := func(n *node) bool { return entryOf(n.fors, m.UID) != nil }
	waits := !m.returns() && !slices.ContainsFunc(m.selected, begun)
	for _, n := range p.nodes {
		switch {
		case !n.exists() || !n.controlPlane():
			continue
		case slices.Contains(m.selected, n):
			c.ours++
		case waits && p.goesForOthers(n, m):
			c.others++
		}
		c.all++
	}
	return c
}

// goesForOthers says whether another maintenance has the node out, or one that was judged
// before and waits for nobody is to take it out.
func (p *pass) goesForOthers(n *node, m *maintained) bool {
	if slices.ContainsFunc(n.fors, func(f For) bool { return f.UID != m.UID }) {
		return true
	}
	for _, other := range p.maintenances {
		if other == m {
			break
		}
		if other.Spec.Rollout == nil && other.holdUp.reason == "" && slices.Contains(other.selected, n) {
			return true
		}
	}
	return false
}

// refused is why nothing is done for the maintenance, whatever its stage. A node that is
// out by then goes its way.
func (m *maintained) refused(c controlPlaneNodes) reasoned {
	if m.invalid != nil {
		return reasoned{
			slipwayv1alpha1.ReasonInvalidSelector,
			fmt.Sprintf("spec.nodeSelector: %v", m.invalid),
		}
	}
	// A cluster with one such node has no control plane left either.
	if m.Spec.Rollout != nil || c.ours == 0 || c.ours+c.others < c.all ||
		slices.Contains(m.Spec.Allow, slipwayv1alpha1.GuardAllControlPlaneNodes) {
		return reasoned{}
	}
	selects := fmt.Sprintf("spec.nodeSelector selects all nodes of the control plane (%d)", c.all)
	if c.others > 0 {
		selects = fmt.Sprintf("spec.nodeSelector selects %d of the %d nodes of the control plane, and others have the rest out", c.ours, c.all)
	}
	return reasoned{
		slipwayv1alpha1.ReasonAllControlPlaneNodes,
		fmt.Sprintf("%s, and without spec.rollout they would be out "+
			"at the same time; spec.allow: [%s] lets it", selects, slipwayv1alpha1.GuardAllControlPlaneNodes),
	}
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
		if why, refused := p.facts.Refused[Key(ChangeMaintenance{Seen: m.NodeMaintenance})]; refused {
			return reasoned{slipwayv1alpha1.ReasonStepRefused, why}
		}
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
