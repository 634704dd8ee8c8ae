// SPDX-License-Identifier: Apache-2.0

package drainplan

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// course is a maintenance on its way through its plan.
type course struct {
	Maintenance
	// steps of the plan, and the targets after each of them.
	steps []entry
	after [][]entry
	// places are its nodes.
	places []*place
	// at is the first step that is not over on all nodes. The number of steps: all are over.
	at int
	// allowed is how far it lets its nodes go.
	allowed level
	// heldBy are the maintenances that it waits for before it lets them go to the step that it
	// is at.
	heldBy names
	// waits is whom its step waits for, once the nodes have what they get.
	waits names
}

func courseOf(m Maintenance) *course {
	c := &course{Maintenance: m, steps: inOrder(entriesOf(m.Plan))}
	for _, e := range c.steps {
		c.after = append(c.after, upTo(c.steps, e.level()))
	}
	return c
}

// overOn is how many steps are over on a node.
func (c *course) overOn(p *place) int {
	return sort.Search(len(c.steps), func(i int) bool { return !p.over(c.after[i], c.steps[i].level()) })
}

// level that the maintenance wants to take its nodes to.
func (c *course) level() level {
	if c.at == len(c.steps) {
		return top
	}
	return c.steps[c.at].level()
}

// hold lets the nodes go to the step that the maintenance is at, if each maintenance that
// wants one of them has finished, on all of its own nodes, what comes up to the step before.
func (c *course) hold() {
	c.allowed, c.heldBy = c.level(), names{}
	if c.at == 0 {
		return
	}
	before := c.steps[c.at-1].level()
	for _, p := range c.places {
		for _, other := range p.wanting {
			if other.level().compare(before) <= 0 {
				c.allowed = before
				c.heldBy.add(other.Name)
			}
		}
	}
}

// upTo are the targets of the plan up to a level.
func (c *course) upTo(l level) []entry {
	begun := sort.Search(len(c.steps), func(i int) bool { return c.steps[i].level().compare(l) > 0 })
	if begun == 0 {
		return nil
	}
	return c.after[begun-1]
}

// waitsFor are the maintenances that its step waits for: itself, where a node has the targets
// and drains, and those that keep a node from getting them.
func (c *course) waitsFor() names {
	all := names{}
	for _, p := range c.places {
		switch {
		case c.overOn(p) > c.at || c.at == len(c.steps):
		case p.level.compare(c.level()) < 0:
			all.join(p.limiting)
		default:
			all.add(c.Name)
		}
	}
	return all
}

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

// Drained says whether the last step of a plan is over on a node: nothing is left there of
// what the plan is to move. It stays so while the node gets more for the sake of others.
func Drained(plan []slipwayv1alpha1.DrainTarget, n Node) bool {
	c := courseOf(Maintenance{Plan: plan})
	return c.overOn(placeOf(n)) == len(c.steps)
}

// Exceeds says whether targets go further than the first step of a plan: a maintenance with
// this plan that comes to a node with these targets is fast-forwarded there (KEP-4212).
func Exceeds(targets, plan []slipwayv1alpha1.DrainTarget) bool {
	steps := inOrder(entriesOf(plan))
	return len(steps) > 0 && highest(entriesOf(targets)).compare(steps[0].level()) > 0
}

// names of maintenances.
type names map[string]struct{}

func (n names) add(name string) { n[name] = struct{}{} }

func (n names) join(others names) { maps.Copy(n, others) }

// room is how long a list of names in a message gets, about: a status has room for 1024
// characters.
const room = 600

// String lists the names, sorted, as far as there is room.
func (n names) String() string {
	sorted := slices.Sorted(maps.Keys(n))
	length := 0
	for i, name := range sorted {
		length += len(name)
		if length > room && i > 0 {
			return fmt.Sprintf("%s and %d more", strings.Join(sorted[:i], ", "), len(sorted)-i)
		}
	}
	return strings.Join(sorted, ", ")
}

func draining(limiting names) string {
	if len(limiting) == 0 {
		return "Draining"
	}
	return "Draining (limited by " + limiting.String() + ")"
}

func waiting(these names) string {
	if len(these) == 0 {
		return ""
	}
	return "Waiting for " + these.String() + "."
}

// message says what goes on at a node.
func (p *place) message() string {
	if !p.reached && len(p.has) > 0 {
		return draining(p.limiting)
	}
	others := names{}
	for _, c := range p.wanting {
		if c.level().compare(p.level) <= 0 {
			others.join(c.waits)
			continue
		}
		others.join(p.limiting)
	}
	return waiting(others)
}

// message says what goes on in a maintenance.
func (c *course) message() string {
	drains, limiting := false, names{}
	for _, p := range c.places {
		drains = drains || !p.reached
		if p.level.compare(c.level()) < 0 {
			limiting.join(p.limiting)
		}
	}
	if drains {
		return draining(limiting)
	}
	return waiting(c.waits)
}
