// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/internal/maintenance/rollout"
)

// note takes in what blocks pods of a node for ever. The pods of one blocker are of any
// namespaces, and its budgets of theirs.
func note(found map[string]*Impossible, node string, b Blocker) {
	for _, pod := range b.Pods {
		namespace, _, _ := strings.Cut(pod, "/")
		key := namespace + "/" + b.By
		i := found[key]
		if i == nil {
			i = &Impossible{Namespace: namespace, Budgets: b.By, Reason: b.Reason, Message: b.Message}
			found[key] = i
		}
		i.Pods++
		if !slices.Contains(i.Nodes, node) {
			i.Nodes = append(i.Nodes, node)
		}
	}
}

// notes are what is particular about a node that begins.
func (p *predictor) notes(n rollout.Node) []string {
	var notes []string
	s := p.look.Nodes[n.Name]
	if !s.Ready {
		notes = append(notes, "it is not Ready already, so it counts as out")
	}
	switch {
	case len(s.Others) > 0:
		notes = append(notes, "it is out for NodeMaintenance "+strings.Join(s.Others, ", ")+" already, and begins as soon as it can join that drain, or is back")
	case n.Down && s.Ready:
		notes = append(notes, "it is cordoned for another event of Slipway, so it counts as out")
	}
	if s.Ahead {
		notes = append(notes, "its drain is further than this plan begins (fast-forward)")
	}
	return notes
}

// assumed is how far what is said of batches goes.
func assumed(together bool) []string {
	all := []string{
		"how long nodes take: a batch is shown as if all of its nodes returned together, and healthy; the next node begins as soon as one may",
		"what earlier batches move: each batch is looked at with the pods where they are now",
		"hooks, work and other maintenances that begin meanwhile, and whether nodes are healthy when they return",
	}
	if together {
		all = all[1:]
	}
	return all
}
