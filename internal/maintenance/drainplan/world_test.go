// SPDX-License-Identifier: Apache-2.0

package drainplan

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// world is a cluster in which everything that is drained does as it is told.
type world struct {
	maintenances map[string]*Maintenance
	nodes        map[string]*Node
	// fastForwarded are the maintenances for which a node is further than their step.
	fastForwarded map[string]bool
}

func newWorld() *world {
	return &world{maintenances: map[string]*Maintenance{}, nodes: map[string]*Node{}}
}

func (w *world) begin(name string, plan []slipwayv1alpha1.DrainTarget, nodes ...string) {
	w.maintenances[name] = &Maintenance{Name: name, Plan: plan}
	for _, n := range nodes {
		w.join(name, n)
	}
}

func (w *world) join(name, node string) {
	m := w.maintenances[name]
	if !slices.Contains(m.Nodes, node) {
		m.Nodes = append(m.Nodes, node)
	}
	if w.nodes[node] == nil {
		w.nodes[node] = &Node{Name: node}
	}
}

func (w *world) leave(name, node string) {
	m := w.maintenances[name]
	m.Nodes = slices.DeleteFunc(m.Nodes, func(n string) bool { return n == node })
}

// step does what Next says.
func (w *world) step() Result {
	var maintenances []Maintenance
	for _, m := range w.maintenances {
		maintenances = append(maintenances, *m)
	}
	var nodes []Node
	for _, n := range w.nodes {
		nodes = append(nodes, *n)
	}
	w.fastForwarded = map[string]bool{}
	courses, _ := gather(maintenances, nodes)
	for _, c := range courses {
		w.fastForwarded[c.Name] = c.fastForwarded()
	}
	r := Next(maintenances, nodes)
	for name, targets := range r.Targets {
		if n := w.nodes[name]; !slices.EqualFunc(n.Targets, targets, same) {
			n.Targets, n.Reached = targets, false
		}
	}
	return r
}

// fastForwarded reports whether a node on which the maintenance still wants something is further than its
// step, and not because the maintenance itself took it there before another node came.
func (c *course) fastForwarded() bool {
	return slices.ContainsFunc(c.places, func(p *place) bool {
		own := len(p.of) == 1 && slices.ContainsFunc(c.steps, func(e entry) bool { return e.level() == p.level })
		return slices.Contains(p.wanting, c) && p.level.compare(c.level()) > 0 && !own
	})
}

func same(a, b slipwayv1alpha1.DrainTarget) bool { return show(a) == show(b) }

// show is what is decided, as scripts show it.
func (w *world) show(r Result) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.Targets)) {
		fmt.Fprintf(&out, "%s: %s%s\n", name, showAll(r.Targets[name]), after("; ", r.Messages[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Progress)) {
		p := r.Progress[name]
		fmt.Fprintf(&out, "%s: %s%s", name, showAll(p.Reached), after("; ", p.Message))
		if p.Done {
			out.WriteString("; done")
		}
		if w.fastForwarded[name] {
			out.WriteString("; fast-forwarded")
		}
		out.WriteString("\n")
	}
	return out.String()
}

func after(comma, text string) string {
	if text == "" {
		return ""
	}
	return comma + text
}

func showAll(targets []slipwayv1alpha1.DrainTarget) string {
	var all []string
	for _, t := range targets {
		all = append(all, show(t))
	}
	if len(all) == 0 {
		return "-"
	}
	return strings.Join(all, ", ")
}

// show writes a target as scripts do: 5000 Default, or max Default app=postgres.
func show(t slipwayv1alpha1.DrainTarget) string {
	if slices.Equal(requirements(t.PodSelector), coversNoPod) {
		return "nothing"
	}
	priority := "any"
	if t.PodPriority != nil {
		priority = strconv.Itoa(int(*t.PodPriority))
		if *t.PodPriority == math.MaxInt32 {
			priority = "max"
		}
	}
	text := priority + " " + string(t.PodType)
	if t.PodSelector != nil {
		text += " " + metav1.FormatLabelSelector(t.PodSelector)
	}
	return text
}

// read is the reverse, a target on each line.
func read(text string) ([]slipwayv1alpha1.DrainTarget, error) {
	var targets []slipwayv1alpha1.DrainTarget
	for line := range strings.Lines(text) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 3)
		t := slipwayv1alpha1.DrainTarget{}
		if len(words) > 1 {
			t.PodType = slipwayv1alpha1.PodType(words[1])
		}
		switch words[0] {
		case "any":
		case "max":
			t.PodPriority = new(int32(math.MaxInt32))
		default:
			priority, err := strconv.ParseInt(words[0], 10, 32)
			if err != nil {
				return nil, fmt.Errorf("read target %q: %w", line, err)
			}
			t.PodPriority = new(int32(priority))
		}
		if len(words) == 3 {
			selector, err := metav1.ParseToLabelSelector(words[2])
			if err != nil {
				return nil, fmt.Errorf("read target %q: %w", line, err)
			}
			t.PodSelector = selector
		}
		targets = append(targets, t)
	}
	return targets, nil
}
