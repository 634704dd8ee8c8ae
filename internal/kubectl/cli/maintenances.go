// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/state"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/maintenance"
)

// errNoMaintenances means that Slipway is installed, and its version has no NodeMaintenances.
var errNoMaintenances = errors.New("this cluster does not serve NodeMaintenances (slipway.dev/v1alpha1): " +
	"'kubectl slipway install' brings the installation up to date")

// MaintenanceName returns the name of a NodeMaintenance as kubectl has it.
func MaintenanceName(name string) string { return "nodemaintenance.slipway.dev/" + name }

// CutMaintenance reads an argument: night, or nodemaintenance/night.
func CutMaintenance(arg string) (string, error) {
	name, ok := cutKind(arg, "nm", "nodemaintenance", "nodemaintenances", "nodemaintenance.slipway.dev", "nodemaintenances.slipway.dev")
	if !ok {
		return "", Usagef("%q is no NodeMaintenance: give its name; 'kubectl slipway maintenance status' lists them", arg)
	}
	return name, nil
}

// MaintenanceTrouble returns the error of a request about the kind, with the remedy.
func MaintenanceTrouble(doing string, err error) error {
	if apierrors.IsNotFound(err) {
		return errNoMaintenances
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// ListMaintenances reads all NodeMaintenances.
func ListMaintenances(ctx context.Context, reader client.Reader) ([]*slipwayv1alpha1.NodeMaintenance, error) {
	var all slipwayv1alpha1.NodeMaintenanceList
	if err := reader.List(ctx, &all); err != nil {
		return nil, MaintenanceTrouble("list NodeMaintenances", err)
	}
	return Pointers(all.Items), nil
}

// GetMaintenance reads one. Its error tells a missing NodeMaintenance from a missing kind.
func GetMaintenance(ctx context.Context, reader client.Reader, name string) (*slipwayv1alpha1.NodeMaintenance, error) {
	var m slipwayv1alpha1.NodeMaintenance
	err := reader.Get(ctx, client.ObjectKey{Name: name}, &m)
	switch {
	case apierrors.IsNotFound(err):
		if _, err := ListMaintenances(ctx, reader); errors.Is(err, errNoMaintenances) {
			return nil, err
		}
		return nil, fmt.Errorf("there is no NodeMaintenance %q; 'kubectl slipway maintenance status' lists them", name)
	case err != nil:
		return nil, fmt.Errorf("get NodeMaintenance %s: %w", name, err)
	default:
		return &m, nil
	}
}

// ForMaintenance lets a command take the name of a NodeMaintenance, and after it the arguments that
// following suggests.
func (t *Tool) ForMaintenance(command *cobra.Command, args cobra.PositionalArgs, run func(ctx context.Context, name string, args []string) error,
	following func(m *slipwayv1alpha1.NodeMaintenance, args []string) []string,
) *cobra.Command {
	command.Args = args
	command.ValidArgsFunction = t.Complete(0, func(ctx context.Context, args []string) (words []string) {
		_, reader, err := t.Open(ctx)
		if err != nil {
			return nil
		}
		all, _ := ListMaintenances(ctx, reader) // an error leaves nothing to suggest
		for _, m := range all {
			switch {
			case len(args) == 0:
				words = append(words, m.Name)
			case m.Name == args[0] && following != nil:
				words = append(words, following(m, args)...)
			}
		}
		return words
	})
	command.RunE = func(command *cobra.Command, args []string) error {
		name := ""
		if len(args) > 0 {
			var err error
			if name, err = CutMaintenance(args[0]); err != nil {
				return err
			}
			args = args[1:]
		}
		return run(command.Context(), name, args)
	}
	return command
}

// MaintenanceNames returns the names of the NodeMaintenances behind the LifecycleEvents of a node.
func MaintenanceNames(node string, events ...*lifecyclev1alpha1.LifecycleEvent) []string {
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

// OutFor names the NodeMaintenances that have a node out of service. It is empty without any maintenance.
func OutFor(node string, events []*lifecyclev1alpha1.LifecycleEvent) string {
	switch names := MaintenanceNames(node, events...); len(names) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("Node %s is out of service for NodeMaintenance %s; 'kubectl slipway maintenance status %s' shows it.", node, names[0], names[0])
	default:
		return fmt.Sprintf("Node %s is out of service for NodeMaintenances %s; 'kubectl slipway maintenance status' shows them.", node, strings.Join(names, ", "))
	}
}

// WantedBy names the maintenances that have a node out of service, or will take it out, with the start of their windows. It
// is empty if the Node shows none.
func WantedBy(node *corev1.Node) string {
	of := func(kind corev1.NodeConditionType) string {
		if c := state.NodeCondition(node, kind); c != nil && c.Status == corev1.ConditionTrue {
			return ui.Clean(c.Message)
		}
		return ""
	}
	if running := of(maintenance.NodeMaintenanceInProgress); running != "" {
		return fmt.Sprintf("Node %s is out of service for NodeMaintenance %s.", node.Name, running)
	}
	if planned := of(maintenance.NodeMaintenancePlanned); planned != "" {
		return fmt.Sprintf("NodeMaintenance %s will take node %s out of service, and waits while another actor has it.", planned, node.Name)
	}
	return ""
}
