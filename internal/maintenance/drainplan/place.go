// SPDX-License-Identifier: Apache-2.0

package drainplan

import slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"

// place is a node.
type place struct {
	name string
	// targets it has now, as they were given, read, and how far they go.
	targets []slipwayv1alpha1.DrainTarget
	has     []entry
	level   level
	// reached: nothing is left that the targets cover.
	reached bool
	// of are the maintenances that it is out for, and wanting those that are not over on it,
	// both by name.
	of, wanting []*course
	// limiting are the maintenances for whose sake it gets no more, once it has what it gets.
	limiting names
}

func placeOf(n Node) *place {
	has := entriesOf(n.Targets)
	return &place{name: n.Name, targets: n.Targets, has: has, level: highest(has), reached: n.Reached}
}

// over says whether a step, after which the targets are these, is over on the node. It is,
// too, when the node has got more already: it got that when it had reached what came before.
func (p *place) over(targets []entry, l level) bool {
	return cover(p.has, targets) && (p.reached || p.level.compare(l) > 0)
}

// raise gives the node what the maintenances that it is out for allow together, and no less
// than it has.
func (p *place) raise() {
	allowed := p.level
	if len(p.wanting) > 0 {
		least := top
		for _, c := range p.wanting {
			least = lower(least, c.allowed)
		}
		if least.compare(allowed) > 0 {
			allowed = least
		}
	}
	gets := p.has
	for _, c := range p.of {
		if more := c.upTo(allowed); !cover(gets, more) {
			gets = merge(gets, more)
		}
	}
	switch {
	case len(gets) == 0:
		p.targets = Nothing()
	case !cover(p.has, gets):
		p.targets, p.reached = targetsOf(gets), false
	}
	p.has, p.level = gets, highest(gets)
}

// limits are the maintenances for whose sake the node does not get more that another one
// wants for it.
func (p *place) limits() names {
	limiting, limited := names{}, false
	for _, c := range p.wanting {
		if c.level().compare(p.level) <= 0 {
			limiting.add(c.Name)
			continue
		}
		limited = true
		limiting.join(c.heldBy)
	}
	if !limited {
		return names{}
	}
	return limiting
}

func lower(a, b level) level {
	if b.compare(a) < 0 {
		return b
	}
	return a
}
