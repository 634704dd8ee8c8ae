// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"fmt"
	"strings"

	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/internal/kubectl/plan"
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
	parts := []string{plan.Count(nodes, "node") + " in " + batches}
	if known {
		parts = append(parts, plan.Count(pods, "pod")+" to leave")
	}
	if blocked > 0 {
		parts = append(parts, plan.Count(blocked, "node")+" blocked now")
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

// Blocked returns current blockers, with remedies. [Forecast.Never] has permanent blockers.
func (f Forecast) Blocked() plan.Remarks {
	var r plan.Remarks
	f.each(func(n Node) {
		if n.Leased != "" {
			r.Add(n.Leased+"; wait, or ask the holder to release it", n.Name)
		}
		if n.Drain == nil {
			return
		}
		for _, b := range n.Drain.Blockers {
			if b.Reason != drain.BudgetImpossible && b.Reason != drain.MultipleBudgets {
				r.Add(b.Message, n.Name, b.Pods...)
			}
		}
	})
	return r
}

// Never returns blockers that cannot end by themselves.
func (f Forecast) Never() plan.Remarks {
	var all plan.Remarks
	for _, i := range f.Impossible {
		all = append(all, plan.Remark{Nodes: i.Nodes, Pods: []string{plan.Count(i.Pods, "pod") + " of " + i.Namespace}, Text: i.Message})
	}
	return all
}

// NodeNotes names special circumstances of nodes that start.
func (f Forecast) NodeNotes() plan.Remarks {
	var r plan.Remarks
	f.each(func(n Node) {
		for _, note := range n.Notes {
			r.Add(note, n.Name)
		}
	})
	return r
}

// NotBegun names the nodes that are in no batch, and why.
func (f Forecast) NotBegun() plan.Remarks {
	var r plan.Remarks
	for _, l := range f.Left {
		r.Add(f.why(l), l.Name)
	}
	return r
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

// Nowhere names the batches with replacements that fit on no other node.
func (f Forecast) Nowhere() plan.Remarks {
	var r plan.Remarks
	for _, b := range f.Batches {
		if b.Replacements == nil || b.Replacements.Nowhere == 0 {
			continue
		}
		r.Add(fmt.Sprintf("%d of %d fit on no other node", b.Replacements.Nowhere, b.Replacements.Total), fmt.Sprintf("batch %d", b.Number))
	}
	return r
}

// Between returns the conditions of batches, in addition to the return of the batch before.
func (f Forecast) Between() plan.Remarks {
	var r plan.Remarks
	for _, b := range f.Batches {
		if b.Condition != "" {
			r.Add(b.Condition, fmt.Sprintf("batch %d", b.Number))
		}
	}
	return r
}

func (f Forecast) each(do func(Node)) {
	for _, b := range f.Batches {
		for _, n := range b.Nodes {
			do(n)
		}
	}
}
