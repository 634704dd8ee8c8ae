// SPDX-License-Identifier: Apache-2.0

package cmd

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
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/maintenance"
)

func newMaintenanceOpen(t *tool) *cobra.Command {
	return &cobra.Command{
		Use:   "open NAME NODE HOOK",
		Short: "Let a node go on that a hook holds up",
		Long: `Says on the LifecycleEvent of the node's drain that the hook is open: with the annotation
hook.slipway.dev/HOOK=Open, which any other program may set as well. A hook may be opened
before the node gets there. Where several maintenances of the node have a hook of that name,
it is open for all of them.`,
		Example:           `  kubectl slipway maintenance open rack-upgrade worker-1 backup`,
		Args:              cobra.ExactArgs(3),
		ValidArgsFunction: t.completeHook,
		RunE: func(command *cobra.Command, args []string) error {
			return t.setHook(command.Context(), args, slipwayv1alpha1.HookOpen, "is open")
		},
	}
}

func newMaintenanceHold(t *tool) *cobra.Command {
	return &cobra.Command{
		Use:   "hold NAME NODE HOOK",
		Short: "Hold a node at a hook, whatever its timeout is",
		Long: `Says on the LifecycleEvent of the node's drain that the hook is held: with the annotation
hook.slipway.dev/HOOK=Hold. The node waits there without a timeout until somebody opens the
hook. One that the node has passed already has no effect.`,
		Example:           `  kubectl slipway maintenance hold rack-upgrade worker-1 backup`,
		Args:              cobra.ExactArgs(3),
		ValidArgsFunction: t.completeHook,
		RunE: func(command *cobra.Command, args []string) error {
			return t.setHook(command.Context(), args, slipwayv1alpha1.HookHold, "is held")
		},
	}
}

// setHook opens or holds the hook of args: a maintenance, a node, a hook.
func (t *tool) setHook(ctx context.Context, args []string, value, done string) error {
	name, err := cutMaintenance(args[0])
	if err != nil {
		return err
	}
	choice := &nodeChoice{}
	if err := choice.take(args[1:2]); err != nil {
		return err
	}
	node, hook := choice.named[0], args[2]
	_, c, err := t.openMaintenances(ctx)
	if err != nil {
		return err
	}
	m, err := getMaintenance(ctx, c, name)
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
	t.say(fmt.Sprintf("node/%s: hook %s %s\n", node, hook, done))
	return nil
}

// hasHook is an error where a maintenance has no hook of that name.
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

// maintenanceEvent is the event that has a node out for maintenances, or nil.
func maintenanceEvent(ctx context.Context, reader client.Reader, node string) (*lifecyclev1alpha1.LifecycleEvent, error) {
	return eventOf(ctx, reader, maintenance.DrainName(node), node)
}

// eventOf is the event of that name, if it is there; it must be of the node.
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

// annotate writes an annotation on this very event.
func annotate(ctx context.Context, c client.Client, event *lifecyclev1alpha1.LifecycleEvent, key, value string) error {
	changed := event.DeepCopy()
	if changed.Annotations == nil {
		changed.Annotations = map[string]string{}
	}
	changed.Annotations[key] = value
	// The UID has the server refuse it where the event is another one by now.
	patch := client.RawPatch("application/merge-patch+json", annotationPatch(event, key, value))
	if err := c.Patch(ctx, changed, patch); err != nil {
		return fmt.Errorf("annotate LifecycleEvent %s: %w", event.Name, err)
	}
	return nil
}

// completeHook suggests a maintenance, then a node that is out for it, then a hook.
func (t *tool) completeHook(command *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return t.completeMaintenance(command, args, begun)
	}
	var found []string
	for _, m := range t.knownMaintenances(command) {
		if m.Name != args[0] {
			continue
		}
		for _, word := range hookWords(m, len(args)) {
			if strings.HasPrefix(word, begun) {
				found = append(found, word)
			}
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// hookWords are what can come after so many arguments.
func hookWords(m *slipwayv1alpha1.NodeMaintenance, after int) []string {
	var words []string
	switch after {
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
