// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/drain"
)

// Headline is the maintenance in one line.
func (f Forecast) Headline() string {
	nodes, pods, blocked, known := 0, 0, 0, false
	for _, row := range f.Rows(true) {
		nodes += len(row.Names)
		pods += row.Leave
		blocked += row.Blocked
		known = known || row.Known
	}
	batches := "1 batch"
	if len(f.Batches) != 1 {
		batches = fmt.Sprintf("%d batches", len(f.Batches))
	}
	parts := []string{counted(nodes, "node") + " in " + batches}
	if known {
		parts = append(parts, counted(pods, "pod")+" to leave")
	}
	if blocked > 0 {
		parts = append(parts, counted(blocked, "node")+" blocked now")
	}
	for _, each := range []struct {
		state LeftState
		text  string
	}{
		{LeftWaiting, "would not begin"}, {LeftOut, "out already"}, {LeftReturned, "returned already"}, {LeftFailed, "failed"},
	} {
		if n := f.count(each.state); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, each.text))
		}
	}
	return fmt.Sprintf("NodeMaintenance %s: %s", f.Maintenance, strings.Join(parts, ", "))
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Remark is something about some nodes, and some of their pods.
type Remark struct {
	Nodes []string
	Pods  []string
	Text  string
}

// Blocked says what would block now, and what helps; but for what never ends by itself, which
// Impossible has.
func (f Forecast) Blocked() []Remark {
	var r remarks
	f.each(func(n Node) {
		if n.Leased != "" {
			r.add(n.Leased+"; wait, or ask its holder to give the lease back", n.Name)
		}
		if n.Drain == nil {
			return
		}
		for _, b := range n.Drain.Blockers {
			if b.Reason != drain.BudgetImpossible && b.Reason != drain.MultipleBudgets {
				r.add(b.Message, n.Name, b.Pods...)
			}
		}
	})
	return r.all
}

// Never says what blocks however long it is waited.
func (f Forecast) Never() []Remark {
	var all []Remark
	for _, i := range f.Impossible {
		all = append(all, Remark{Nodes: i.Nodes, Pods: []string{counted(i.Pods, "pod") + " of " + i.Namespace}, Text: i.Message})
	}
	return all
}

// Noted says what is particular about nodes that begin.
func (f Forecast) Noted() []Remark {
	var r remarks
	f.each(func(n Node) {
		for _, note := range n.Notes {
			r.add(note, n.Name)
		}
	})
	return r.all
}

// NotBegun says which nodes are in no batch, and why.
func (f Forecast) NotBegun() []Remark {
	var r remarks
	for _, l := range f.Left {
		r.add(f.why(l), l.Name)
	}
	return r.all
}

func (f Forecast) why(l Left) string {
	switch l.State {
	case LeftOut:
		return "out for it already"
	case LeftReturned:
		return "returned already"
	case LeftFailed:
		return strings.TrimSuffix(fmt.Sprintf("failed: %s: %s", l.Reason, l.Message), ": ")
	default:
		if f.Held == nil {
			return "would not begin"
		}
		return fmt.Sprintf("would not begin: %s: %s", f.Held.Reason, f.Held.Message)
	}
}

// Nowhere says in which batches replacements fit on no other node.
func (f Forecast) Nowhere() []Remark {
	var r remarks
	for _, b := range f.Batches {
		if b.Replacements == nil || b.Replacements.Nowhere == 0 {
			continue
		}
		r.add(fmt.Sprintf("%d of %d fit on no other node", b.Replacements.Nowhere, b.Replacements.Total), fmt.Sprintf("batch %d", b.Number))
	}
	return r.all
}

// Between says what has to happen before some of the batches, besides the return of the last one.
func (f Forecast) Between() []Remark {
	var r remarks
	for _, b := range f.Batches {
		if b.Condition != "" {
			r.add(b.Condition, fmt.Sprintf("batch %d", b.Number))
		}
	}
	return r.all
}

func (f Forecast) each(do func(Node)) {
	for _, b := range f.Batches {
		for _, n := range b.Nodes {
			do(n)
		}
	}
}

// remarks puts nodes together of which the same is to be said.
type remarks struct{ all []Remark }

func (r *remarks) add(text, node string, pods ...string) {
	i := slices.IndexFunc(r.all, func(other Remark) bool { return other.Text == text })
	if i < 0 {
		r.all, i = append(r.all, Remark{Text: text}), len(r.all)
	}
	of := &r.all[i]
	if !slices.Contains(of.Nodes, node) {
		of.Nodes = append(of.Nodes, node)
	}
	of.Pods = append(of.Pods, pods...)
}
