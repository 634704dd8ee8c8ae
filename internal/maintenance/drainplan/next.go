// SPDX-License-Identifier: Apache-2.0

package drainplan

import (
	"maps"
	"slices"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// Maintenance is a maintenance that drains.
type Maintenance struct {
	// Name identifies it.
	Name string
	// Plan are its steps, from [Complete].
	Plan []slipwayv1alpha1.DrainTarget
	// Nodes are the names of the nodes that it drains. They wait for each other, so a node whose drain
	// has failed must be left out.
	Nodes []string
}

// Node is a node with a drain.
type Node struct {
	Name string
	// Targets of its drain. Nil: it is only cordoned.
	Targets []slipwayv1alpha1.DrainTarget
	// Reached: no pod is left that the targets cover.
	Reached bool
}

// Result is the decision of [Next].
type Result struct {
	// Targets for the drain of each node, by its name: its current ones, or more.
	Targets map[string][]slipwayv1alpha1.DrainTarget
	// Messages by the name of the node: "Draining", "Draining (limited by A, B)" or "Waiting for A.".
	// A message is empty if no maintenance wants more, and the node has reached its targets.
	Messages map[string]string
	// Progress of each maintenance, by its name.
	Progress map[string]Progress
}

// Progress is the progress of a maintenance through its plan.
type Progress struct {
	// Reached are the lowest targets of its nodes, at most one for each podType and podSelector
	// (KEP-4212, reachedDrainTargets). Pods that they cover may still run.
	Reached []slipwayv1alpha1.DrainTarget
	// Done: the last step is over on all of its nodes: no pod of the plan is left, also no pod that
	// terminates. Done is false without nodes.
	Done bool
	// Message is "Draining", "Draining (limited by A, B)" or "Waiting for A.". It is empty if the
	// maintenance is done or has no nodes.
	Message string
}

// Behind reports whether a maintenance has reached less than another with the same plan.
func (p Progress) Behind(other Progress) bool {
	return highest(entriesOf(p.Reached)).compare(highest(entriesOf(other.Reached))) < 0
}

// Next decides the targets of the drains (KEP-4212). The order of its arguments does not matter.
//
// A maintenance lets its nodes proceed to the first step that is not over on every node; but only after
// all maintenances that share one of these nodes have completed, on their own nodes, their steps up to the
// step before. A node proceeds to the lowest step that its maintenances allow, in one order of the steps of
// all plans: by podType, by podPriority, first the steps with a selector by its text. It then has the
// targets of each of its plans up to there. A maintenance that has completed its plan on a node does not
// limit that node.
//
// A node never gets fewer targets than it has. If it has more than the step of a maintenance, that step
// counts as over there (fast-forward): a node that joins later begins at the first step, and the nodes
// before it wait.
//
// If a maintenance names a node that nodes lacks, that node has no targets yet. A node without a maintenance
// keeps its targets.
func Next(maintenances []Maintenance, nodes []Node) Result {
	courses, places := gather(maintenances, nodes)
	for _, c := range courses {
		c.hold()
	}
	result := Result{Targets: map[string][]slipwayv1alpha1.DrainTarget{}, Messages: map[string]string{}, Progress: map[string]Progress{}}
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
		result.Progress[c.Name] = c.progress()
	}
	return result
}

// course is a maintenance that carries out its plan.
type course struct {
	Maintenance
	// steps of the plan, and the targets after each of them.
	steps []entry
	after [][]entry
	// places are its nodes.
	places []*place
	// at is the first step that is not over on all nodes; the number of steps, if all steps are over.
	at int
	// allowed is the level to which its nodes may proceed.
	allowed level
	// heldBy are the maintenances that keep its nodes from the current step.
	heldBy sets.Set[string]
	// waits are the maintenances that its step waits for, once the nodes have their new targets.
	waits sets.Set[string]
}

// place is a node.
type place struct {
	name string
	// targets of the node, the same parsed, and their level.
	targets []slipwayv1alpha1.DrainTarget
	has     []entry
	level   level
	// reached: no pod is left that the targets cover.
	reached bool
	// of are the maintenances of the node, by name, and wanting those that are not over on it.
	of, wanting []*course
	// limiting are the maintenances that keep the node from more targets.
	limiting sets.Set[string]
}

// gather returns maintenances and nodes by name.
func gather(maintenances []Maintenance, nodes []Node) (courses []*course, places []*place) {
	byName := map[string]*place{}
	for _, n := range nodes {
		byName[n.Name] = placeOf(n)
	}
	for _, m := range maintenances {
		c := courseOf(m)
		for name := range sets.New(m.Nodes...) {
			if byName[name] == nil {
				byName[name] = placeOf(Node{Name: name})
			}
			c.places = append(c.places, byName[name])
		}
		slices.SortFunc(c.places, byPlace)
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
	return courses, slices.SortedFunc(maps.Values(byName), byPlace)
}

func byPlace(a, b *place) int { return strings.Compare(a.name, b.name) }

func courseOf(m Maintenance) *course {
	c := &course{Maintenance: m, steps: inOrder(entriesOf(m.Plan))}
	for _, e := range c.steps {
		c.after = append(c.after, upTo(c.steps, e.level()))
	}
	return c
}

func placeOf(n Node) *place {
	has := entriesOf(n.Targets)
	return &place{name: n.Name, targets: n.Targets, has: has, level: highest(has), reached: n.Reached}
}

// overOn counts the steps that are over on a node: it has reached their targets. It has also reached
// them if it has more: those came only after that.
func (c *course) overOn(p *place) int {
	return sort.Search(len(c.steps), func(i int) bool {
		return !cover(p.has, c.after[i]) || !p.reached && p.level.compare(c.steps[i].level()) <= 0
	})
}

// level returns the level to which the maintenance wants to take its nodes.
func (c *course) level() level {
	if c.at == len(c.steps) {
		return top
	}
	return c.steps[c.at].level()
}

// hold allows the nodes the current step, if each maintenance that wants one of them has completed, on all
// of its own nodes, its steps up to the step before.
func (c *course) hold() {
	c.allowed, c.heldBy = c.level(), sets.New[string]()
	if c.at == 0 {
		return
	}
	before := c.steps[c.at-1].level()
	for _, p := range c.places {
		for _, other := range p.wanting {
			if other.level().compare(before) <= 0 {
				c.allowed = before
				c.heldBy.Insert(other.Name)
			}
		}
	}
}

// raise gives the node the targets that its maintenances allow together, and no fewer than it has.
func (p *place) raise() {
	allowed := top
	for _, c := range p.wanting {
		if c.allowed.compare(allowed) < 0 {
			allowed = c.allowed
		}
	}
	if len(p.wanting) == 0 || allowed.compare(p.level) < 0 {
		allowed = p.level
	}
	gets := p.has
	for _, c := range p.of {
		begun := sort.Search(len(c.steps), func(i int) bool { return c.steps[i].level().compare(allowed) > 0 })
		if begun > 0 && !cover(gets, c.after[begun-1]) {
			gets = merge(slices.Concat(gets, c.after[begun-1]))
		}
	}
	switch {
	case len(gets) == 0:
		p.targets = NoPods()
	case !cover(p.has, gets):
		p.targets, p.reached = targetsOf(gets), false
	}
	p.has, p.level = gets, highest(gets)
}

// limits returns the maintenances that keep a node from the targets that another one wants for it.
func (p *place) limits() sets.Set[string] {
	limiting, limited := sets.New[string](), false
	for _, c := range p.wanting {
		if c.level().compare(p.level) <= 0 {
			limiting.Insert(c.Name)
			continue
		}
		limited = true
		maps.Copy(limiting, c.heldBy)
	}
	if !limited {
		return nil
	}
	return limiting
}

// waitsFor returns the maintenances that the current step waits for: the maintenance itself, if a node
// that has the targets drains, and the maintenances that keep a node from getting the targets.
func (c *course) waitsFor() sets.Set[string] {
	all := sets.New[string]()
	for _, p := range c.places {
		switch {
		case c.overOn(p) > c.at || c.at == len(c.steps):
		case p.level.compare(c.level()) < 0:
			maps.Copy(all, p.limiting)
		default:
			all.Insert(c.Name)
		}
	}
	return all
}

func (p *place) message() string {
	if !p.reached && len(p.has) > 0 {
		return draining(p.limiting)
	}
	others := sets.New[string]()
	for _, c := range p.wanting {
		if c.level().compare(p.level) <= 0 {
			maps.Copy(others, c.waits)
		} else {
			maps.Copy(others, p.limiting)
		}
	}
	return waiting(others)
}

func (c *course) progress() Progress {
	if len(c.places) == 0 {
		return Progress{}
	}
	lowest := slices.MinFunc(c.places, func(a, b *place) int { return a.level.compare(b.level) })
	progress := Progress{Reached: lowest.targets, Done: c.at == len(c.steps)}
	if progress.Done {
		return progress
	}
	limiting := sets.New[string]()
	for _, p := range c.places {
		if p.level.compare(c.level()) < 0 {
			maps.Copy(limiting, p.limiting)
		}
	}
	if slices.ContainsFunc(c.places, func(p *place) bool { return !p.reached }) {
		progress.Message = draining(limiting)
	} else {
		progress.Message = waiting(c.waits)
	}
	return progress
}

// listed is the maximum number of names in a message.
const listed = 10

func draining(limiting sets.Set[string]) string {
	if len(limiting) == 0 {
		return "Draining"
	}
	return "Draining (limited by " + reasons.Names(sets.List(limiting), listed) + ")"
}

func waiting(others sets.Set[string]) string {
	if len(others) == 0 {
		return ""
	}
	return "Waiting for " + reasons.Names(sets.List(others), listed) + "."
}

// Drained reports whether the last step of a plan is over on a node: no pod of the plan is left there. That
// stays so while the node gets more targets for other maintenances.
func Drained(plan []slipwayv1alpha1.DrainTarget, n Node) bool {
	c := courseOf(Maintenance{Plan: plan})
	return c.overOn(placeOf(n)) == len(c.steps)
}

// Exceeds reports whether targets exceed the first step of a plan: a maintenance with this plan that joins
// a node with these targets is fast-forwarded there (KEP-4212).
func Exceeds(targets, plan []slipwayv1alpha1.DrainTarget) bool {
	steps := inOrder(entriesOf(plan))
	return len(steps) > 0 && highest(entriesOf(targets)).compare(steps[0].level()) > 0
}
