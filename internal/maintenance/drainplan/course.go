// SPDX-License-Identifier: Apache-2.0

package drainplan

import "sort"

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
