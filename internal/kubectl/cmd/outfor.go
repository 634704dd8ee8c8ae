// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/explain"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/maintenance"
)

// maintenanceNames are the names of the maintenances that a node is out for, by its events.
func maintenanceNames(events []*lifecyclev1alpha1.LifecycleEvent, node string) []string {
	var names []string
	for _, event := range events {
		if event.Spec.BindingNode != node {
			continue
		}
		for _, m := range maintenance.Refs(event) {
			names = append(names, ui.Clean(m.Name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// outFor says for which maintenances a node is out. Empty: for none.
func outFor(node string, maintenances []string) string {
	switch len(maintenances) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("Node %s is out for NodeMaintenance %s; 'kubectl slipway maintenance status %s' shows it.",
			node, maintenances[0], maintenances[0])
	default:
		return fmt.Sprintf("Node %s is out for NodeMaintenances %s; 'kubectl slipway maintenance status' shows them.",
			node, strings.Join(maintenances, ", "))
	}
}

// printOutFor says below a report for which maintenances the node is out, if it is.
func printOutFor(out io.Writer, style ui.Style, facts explain.Facts) error {
	text := outFor(facts.NodeName, maintenanceNames(pointers(facts.Events), facts.NodeName))
	if text == "" {
		return nil
	}
	_, err := fmt.Fprintln(out, "\n"+strings.Join(style.Wrap("", text), "\n"))
	return err
}

// collisions say which of the nodes that somebody wants something of are out for maintenances
// (KEP-4212): what is asked for waits its turn, or is undone by them.
func collisions(there, wanted []*lifecyclev1alpha1.LifecycleEvent) []string {
	var notes []string
	for _, event := range wanted {
		if text := outFor(event.Spec.BindingNode, maintenanceNames(there, event.Spec.BindingNode)); text != "" {
			notes = append(notes, "Warning: "+text)
		}
	}
	return notes
}
