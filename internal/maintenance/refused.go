// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"time"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// A step of a node that the API server refuses is done again, later and later. Until it is
// done, the node goes no step further, and that is shown: somebody has to see to it.

// refuse notes of a step that has been refused which node it holds up.
func (p *pass) refuse(step Step) {
	why, refused := p.facts.Refused[Key(step)]
	if !refused {
		return
	}
	if n := p.byName[holdsUp(step)]; n != nil && n.refused == "" {
		n.refused = why
	}
}

// holdsUp is the node that goes no step further until the step is done; empty, if none is held
// up: what a Node only says for people to read, and what is only tidied up, holds up none, and
// of Jobs more is to be said.
func holdsUp(step Step) string {
	switch s := step.(type) {
	case CreateEvent:
		return s.Event.Spec.BindingNode
	case ChangeEvent:
		return s.Seen.Spec.BindingNode
	case DeleteEvent:
		return s.Event.Spec.BindingNode
	case RecordOnNode:
		return s.Node
	case KeepAway:
		return s.Node
	case LetBack:
		return s.Node
	default:
		return ""
	}
}

// showRefused says where a node is that a refused step holds up.
func (p *pass) showRefused(n *node) {
	if n.refused == "" {
		return
	}
	why := reasoned{slipwayv1alpha1.ReasonStepRefused, n.refused}
	for _, m := range p.maintenances {
		if !n.concerns(m) {
			continue
		}
		at, found := m.places[n.name]
		r := n.recordOf(m)
		switch {
		case !found && r != nil && r.State == RecordFailed: // nothing puts it back
			at = place{phase: slipwayv1alpha1.NodeFailed, since: r.At}
		case !found:
			at = place{phase: slipwayv1alpha1.NodeHeld}
		case at.phase == slipwayv1alpha1.NodeFailed && !m.returns():
			continue // why it has failed is what people have to know
		case at.phase == slipwayv1alpha1.NodeReturned:
			at.phase, at.since = slipwayv1alpha1.NodeReturning, time.Time{}
		}
		at.reasoned = why
		m.places[n.name] = at
	}
}

// concerns says whether the node is out for a maintenance, about to be, or cordoned for a drain
// of its that is no more.
func (n *node) concerns(m *maintained) bool {
	return n.stillOut(m) || slices.ContainsFunc(n.begin, func(entry For) bool { return entry.UID == m.UID })
}
