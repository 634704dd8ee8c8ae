// SPDX-License-Identifier: Apache-2.0

package drainplan

import (
	"cmp"
	"slices"
	"strings"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// Next is how far the drains go that maintenances have, from what the nodes have and have
// reached (KEP-4212). It gives the same whatever the order of what it gets.
//
// A maintenance lets its nodes go to the first step that is not over on all of them; but not
// before all maintenances that want one of its nodes have finished, on their own nodes, what
// comes up to the step before. A node goes to the lowest step that the maintenances allow
// that want something of it, in one order of the steps of all plans: by podType, by
// podPriority, those with a selector first and in the order of their texts. It then has
// what each of the plans it is out for says up to there. Who has nothing left to do on a
// node limits it no more.
//
// A node never gets less than it has. Where it has more than the step of a maintenance, that
// step counts as over there (fast-forward): a node that comes later begins at the first step,
// and the others wait for it where they are.
//
// A name among the nodes of a maintenance that nodes do not have is one that has no targets
// yet. A node that is out for no maintenance keeps what it has.
func Next(maintenances []Maintenance, nodes []Node) Result {
	courses, places := gather(maintenances, nodes)
	for _, c := range courses {
		c.hold()
	}
	result := Result{Targets: map[string][]slipwayv1alpha1.DrainTarget{}, Messages: map[string]string{}, Of: map[string]Progress{}}
	for _, c := range courses {
		result.Of[c.Name] = Progress{Done: c.done(), FastForwarded: c.fastForwarded()}
	}
	for _, p := range places {
		p.raise()
		p.limiting = p.limits()
		result.Targets[p.name] = p.targets
	}
	for _, c := range courses {
		c.waits = c.waitsFor()
	}
	for _, p := range places {
		result.Messages[p.name] = p.message()
	}
	for _, c := range courses {
		progress := result.Of[c.Name]
		progress.Reached = c.lowest()
		if !progress.Done {
			progress.Message = c.message()
		}
		result.Of[c.Name] = progress
	}
	return result
}

// gather says who is where, maintenances and nodes by name.
func gather(maintenances []Maintenance, nodes []Node) ([]*course, []*place) {
	byName := map[string]*place{}
	for _, n := range nodes {
		byName[n.Name] = placeOf(n)
	}
	var courses []*course
	for _, m := range maintenances {
		c := courseOf(m)
		for _, name := range slices.Compact(slices.Sorted(slices.Values(m.Nodes))) {
			if byName[name] == nil {
				byName[name] = placeOf(Node{Name: name})
			}
			c.places = append(c.places, byName[name])
		}
		courses = append(courses, c)
	}
	slices.SortFunc(courses, func(a, b *course) int { return strings.Compare(a.Name, b.Name) })
	for _, c := range courses {
		c.at = len(c.steps)
		for _, p := range c.places {
			p.of = append(p.of, c)
			over := c.overOn(p)
			if over < len(c.steps) {
				p.wanting = append(p.wanting, c)
			}
			c.at = min(c.at, over)
		}
	}
	places := make([]*place, 0, len(byName))
	for _, p := range byName {
		places = append(places, p)
	}
	slices.SortFunc(places, func(a, b *place) int { return cmp.Compare(a.name, b.name) })
	return courses, places
}

// done: the last step is over everywhere.
func (c *course) done() bool {
	return len(c.places) > 0 && c.at == len(c.steps)
}

// fastForwarded: a node that the maintenance still wants something of is further, and not
// because the maintenance itself took it there before another node came.
func (c *course) fastForwarded() bool {
	return slices.ContainsFunc(c.places, func(p *place) bool {
		own := len(p.of) == 1 && slices.ContainsFunc(c.steps, func(e entry) bool { return e.level() == p.level })
		return slices.Contains(p.wanting, c) && p.level.compare(c.level()) > 0 && !own
	})
}

// lowest are the targets of the node that goes the least far; of several, the first by name.
func (c *course) lowest() []slipwayv1alpha1.DrainTarget {
	if len(c.places) == 0 {
		return nil
	}
	p := slices.MinFunc(c.places, func(a, b *place) int { return a.level.compare(b.level) })
	return p.targets
}
