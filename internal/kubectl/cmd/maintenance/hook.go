// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/maintenance"
)

func newMaintenanceOpen(t *cli.Tool) *cobra.Command {
	return &cobra.Command{
		Use:   "open NAME NODE HOOK",
		Short: "Open a hook that a node waits at",
		Long: `Sets the annotation hook.slipway.dev/HOOK=Open on the LifecycleEvent of the node's drain. Any
other program may set it as well. A hook may be opened before the node gets there. Where several
maintenances of the node have a hook of that name, it is open for all of them.`,
		Example:           `  kubectl slipway maintenance open rack-upgrade worker-1 backup`,
		Args:              cobra.ExactArgs(3),
		ValidArgsFunction: t.CompleteMaintenance(3, hookWords),
		RunE: func(command *cobra.Command, args []string) error {
			return setHook(command.Context(), t, args, slipwayv1alpha1.HookOpen, "is open")
		},
	}
}

func newMaintenanceHold(t *cli.Tool) *cobra.Command {
	return &cobra.Command{
		Use:   "hold NAME NODE HOOK",
		Short: "Hold a node at a hook, whatever its timeout is",
		Long: `Sets the annotation hook.slipway.dev/HOOK=Hold on the LifecycleEvent of the node's drain. The
node waits there without a timeout until the hook is opened. A hook that the node has passed has
no effect.`,
		Example:           `  kubectl slipway maintenance hold rack-upgrade worker-1 backup`,
		Args:              cobra.ExactArgs(3),
		ValidArgsFunction: t.CompleteMaintenance(3, hookWords),
		RunE: func(command *cobra.Command, args []string) error {
			return setHook(command.Context(), t, args, slipwayv1alpha1.HookHold, "is held")
		},
	}
}

// setHook opens or holds a hook. Args are a maintenance, a node and a hook.
func setHook(ctx context.Context, t *cli.Tool, args []string, value, done string) error {
	name, err := cli.CutMaintenance(args[0])
	if err != nil {
		return err
	}
	node, err := cli.OneNode(args[1:2])
	if err != nil {
		return err
	}
	hook := args[2]
	_, c, err := t.Open(ctx)
	if err != nil {
		return err
	}
	m, err := cli.GetMaintenance(ctx, c, name)
	if err != nil {
		return err
	}
	if err := hasHook(m, hook); err != nil {
		return err
	}
	event, err := maintenanceEvent(ctx, c, node)
	switch {
	case err != nil:
		return err
	case event == nil || !isFor(event, m.UID):
		return fmt.Errorf("node %s is not out for NodeMaintenance %s: hooks are opened and held on nodes that have begun; "+
			"'kubectl slipway maintenance status %s' shows them", node, name, name)
	}
	if err := annotate(ctx, c, event, slipwayv1alpha1.HookAnnotationPrefix+hook, value); err != nil {
		return err
	}
	t.Sayf("node/%s: hook %s %s\n", node, hook, done)
	return nil
}

// hasHook returns an error where a maintenance has no hook of that name.
func hasHook(m *slipwayv1alpha1.NodeMaintenance, hook string) error {
	var known []string
	for _, h := range m.Spec.Hooks {
		known = append(known, h.Name)
	}
	switch {
	case slices.Contains(known, hook):
		return nil
	case len(known) == 0:
		return fmt.Errorf("NodeMaintenance %s has no hooks", m.Name)
	default:
		return fmt.Errorf("NodeMaintenance %s has no hook %q; it has %s", m.Name, hook, strings.Join(known, ", "))
	}
}

// maintenanceEvent returns the drain of a node for maintenances, or nil.
func maintenanceEvent(ctx context.Context, reader client.Reader, node string) (*lifecyclev1alpha1.LifecycleEvent, error) {
	return eventOf(ctx, reader, maintenance.DrainName(node), node)
}

// eventOf returns the event of that name, or nil. It must be bound to the node.
func eventOf(ctx context.Context, reader client.Reader, name, node string) (*lifecyclev1alpha1.LifecycleEvent, error) {
	var event lifecyclev1alpha1.LifecycleEvent
	err := reader.Get(ctx, client.ObjectKey{Name: name}, &event)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get LifecycleEvent %s: %w", name, err)
	case event.Spec.BindingNode != node:
		return nil, fmt.Errorf("LifecycleEvent %s is for node %s", name, ui.Clean(event.Spec.BindingNode))
	default:
		return &event, nil
	}
}

// annotate sets an annotation on this very event.
func annotate(ctx context.Context, c client.Client, event *lifecyclev1alpha1.LifecycleEvent, key, value string) error {
	changed := event.DeepCopy()
	if changed.Annotations == nil {
		changed.Annotations = map[string]string{}
	}
	changed.Annotations[key] = value
	// Because of the UID, the server refuses it where the event is another one by now.
	patch := client.RawPatch("application/merge-patch+json", annotationPatch(event, key, value))
	if err := c.Patch(ctx, changed, patch); err != nil {
		return fmt.Errorf("annotate LifecycleEvent %s: %w", event.Name, err)
	}
	return nil
}

// hookWords completes the node and the hook after the maintenance.
func hookWords(m *slipwayv1alpha1.NodeMaintenance, args []string) []string {
	var words []string
	switch len(args) {
	case 1:
		for _, n := range m.Status.NodeStatuses {
			words = append(words, n.Name)
		}
	case 2:
		for _, h := range m.Spec.Hooks {
			words = append(words, h.Name)
		}
	}
	return words
}
