// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/maintenance"
)

func newOpen(t *cli.Tool) *cobra.Command {
	return settingHook(t, &cobra.Command{
		Use:   "open NAME NODE HOOK",
		Short: "Open a hook that blocks a node",
		Long: `Sets the annotation hook.slipway.dev/HOOK=Open on the LifecycleEvent of the node's drain. Any other
program may set it as well, also before the node reaches the hook. It opens the hooks of that name of
all maintenances of the node.`,
		Example: `  kubectl slipway maintenance open rack-upgrade worker-1 backup`,
	}, slipwayv1alpha1.HookOpen, "open")
}

func newHold(t *cli.Tool) *cobra.Command {
	return settingHook(t, &cobra.Command{
		Use:   "hold NAME NODE HOOK",
		Short: "Hold a node at a hook without a timeout",
		Long: `Sets the annotation hook.slipway.dev/HOOK=Hold on the LifecycleEvent of the node's drain. The node
waits there without a timeout until a user or a program opens the hook. For a hook that the node has
passed, the annotation has no effect.`,
		Example: `  kubectl slipway maintenance hold rack-upgrade worker-1 backup`,
	}, slipwayv1alpha1.HookHold, "held")
}

// settingHook lets a command open or hold a hook of a node.
func settingHook(t *cli.Tool, command *cobra.Command, value, done string) *cobra.Command {
	run := func(ctx context.Context, name string, args []string) error {
		node, err := cli.OneNode(args[:1])
		if err != nil {
			return err
		}
		hook := args[1]
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
		event, err := eventOf(ctx, c, maintenance.DrainName(node), node)
		switch {
		case err != nil:
			return err
		case event == nil || !isFor(event, m.UID):
			return fmt.Errorf("node %s is not out of service for NodeMaintenance %s, so it has no hooks yet; "+
				"'kubectl slipway maintenance status %s' shows the nodes that have begun", node, name, name)
		}
		if err := annotate(ctx, c, event, slipwayv1alpha1.HookAnnotationPrefix+hook, value); err != nil {
			return err
		}
		t.Sayf("node/%s: hook %s is %s\n", node, hook, done)
		return nil
	}
	return t.ForMaintenance(command, cobra.ExactArgs(3), run, func(m *slipwayv1alpha1.NodeMaintenance, args []string) (words []string) {
		switch len(args) {
		case 1:
			for _, n := range m.Status.NodeStatuses {
				words = append(words, n.Name)
			}
		case 2:
			words = hookNames(m)
		}
		return words
	})
}

func hookNames(m *slipwayv1alpha1.NodeMaintenance) (names []string) {
	for _, h := range m.Spec.Hooks {
		names = append(names, h.Name)
	}
	return names
}

// hasHook returns an error for a maintenance without a hook of that name.
func hasHook(m *slipwayv1alpha1.NodeMaintenance, hook string) error {
	known := hookNames(m)
	if slices.Contains(known, hook) {
		return nil
	}
	return fmt.Errorf("NodeMaintenance %s has no hook %q; it has %s", m.Name, hook, cmp.Or(strings.Join(known, ", "), "no hooks"))
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

// annotate sets an annotation on this very event: because of the UID, the server refuses it for
// another event of the same name.
func annotate(ctx context.Context, c client.Client, event *lifecyclev1alpha1.LifecycleEvent, key, value string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": event.UID, "annotations": map[string]string{key: value}}})
	if err == nil {
		err = c.Patch(ctx, event.DeepCopy(), client.RawPatch(types.MergePatchType, patch))
	}
	if err != nil {
		return fmt.Errorf("annotate LifecycleEvent %s: %w", event.Name, err)
	}
	return nil
}
