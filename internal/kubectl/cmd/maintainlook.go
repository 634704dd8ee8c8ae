// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// looked is what is found before a maintenance is asked for.
type looked struct {
	notes []string
	// wrong is why it is not asked for.
	wrong error
}

// lookAt says which nodes a maintenance selects now, and what may not be meant.
func lookAt(wanted *slipwayv1alpha1.NodeMaintenance, choice nodeChoice, nodes []*corev1.Node, others []*slipwayv1alpha1.NodeMaintenance) looked {
	var l looked
	selected := selectedNodes(wanted.Spec.NodeSelector, nodes)
	for _, name := range choice.named {
		if nodeNamed(nodes, name) == nil {
			l.wrong = errors.Join(l.wrong, noSuchNode(name))
		}
	}
	if len(selected) == 0 && l.wrong == nil {
		l.wrong = fmt.Errorf("no node has the labels %s; nothing was created", choice.selector)
	}
	if l.wrong != nil {
		return l
	}
	l.note("Selects %s now: %s.", ui.Count(len(selected), "node", "nodes"), someNames(selected))
	if len(selected) == len(nodes) {
		l.note("Warning: these are all nodes of the cluster.")
		if (wanted.Spec.Rollout == nil || len(nodes) == 1) && !slices.Contains(wanted.Spec.Allow, slipwayv1alpha1.GuardLastSchedulableNode) {
			l.note("Where the guards are installed, the last one that pods can go to is not taken out without --allow-last-schedulable-node.")
		}
	}
	if ofAll, ofSelected := countControlPlane(nodes), countControlPlane(selected); ofAll > 0 && ofAll == ofSelected {
		l.note("Warning: among them is the whole control plane, which is %s.", ui.Count(ofAll, "node", "nodes"))
		if wanted.Spec.Rollout == nil && !slices.Contains(wanted.Spec.Allow, slipwayv1alpha1.GuardAllControlPlaneNodes) {
			l.wrong = errors.New("all nodes of the control plane would be out at the same time: leave out --all-together to take out one at a " +
				"time, or say --allow-all-control-plane-nodes; nothing was created")
			return l
		}
	}
	l.leased(selected)
	l.overlaps(selected, others, wanted.Name)
	return l
}

// leased names the nodes that somebody else works on now.
func (l *looked) leased(selected []*corev1.Node) {
	var named []string
	for _, node := range selected {
		if held, is := leasedByOthers(node); is {
			named = append(named, fmt.Sprintf("%s to %s", node.Name, holderText(held)))
		}
	}
	const most = 8
	text := strings.Join(named[:min(most, len(named))], ", ")
	if more := len(named) - most; more > 0 {
		text += fmt.Sprintf(" and %d more ('kubectl slipway lease list')", more)
	}
	if len(named) > 0 {
		l.note("Warning: others have leased %d of them now, which wait until the leases are given back: %s.", len(named), text)
	}
}

func (l *looked) note(format string, args ...any) {
	l.notes = append(l.notes, fmt.Sprintf(format, args...))
}

// overlaps names the nodes that others maintain, too.
func (l *looked) overlaps(selected []*corev1.Node, others []*slipwayv1alpha1.NodeMaintenance, own string) {
	found := false
	for _, row := range maintenanceRows(others) {
		if row.over() || row.Name == own {
			continue
		}
		shared := selectedNodes(row.of.Spec.NodeSelector, selected)
		if len(shared) == 0 {
			continue
		}
		found = true
		l.note("Warning: NodeMaintenance %s (%s) is for %d of them, too: %s.", ui.Clean(row.Name), row.State, len(shared), someNames(shared))
	}
	if found {
		l.note("Of several, the one that asks for the least decides how far a node is drained; it returns when none needs it out any more.")
	}
}

func countControlPlane(nodes []*corev1.Node) int {
	n := 0
	for _, node := range nodes {
		if isControlPlane(node) {
			n++
		}
	}
	return n
}

// someNames are the names of nodes, at most so many that they can be read.
func someNames(nodes []*corev1.Node) string {
	const most = 8
	var names []string
	for _, node := range nodes[:min(most, len(nodes))] {
		names = append(names, node.Name)
	}
	text := strings.Join(names, ", ")
	if more := len(nodes) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
