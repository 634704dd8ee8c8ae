// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// statusFlags are those of status.
type statusFlags struct {
	nodes  nodeChoice
	output *outputFlag
	watch  bool
}

func newStatus(t *tool) *cobra.Command {
	s := &statusFlags{nodes: nodeChoice{optional: true}}
	command := &cobra.Command{
		Use:   "status [NODE...] [-l SELECTOR]",
		Short: "Show the nodes in or near maintenance: how far they are, what blocks them, who asked",
		Long: `Shows the nodes that something is going on with, that are cordoned, or that were drained; of
nodes that are named, also those in service. -o wide says besides why, and by which event. On
a terminal that is too narrow for all columns, what blocks a node is below its line.

With -w it goes on: a terminal is redrawn; elsewhere, each change of a node is a line, or one
JSON object with -o json. What was said before the last change of an event is marked (outdated).`,
		Example: `  kubectl slipway status
  kubectl slipway status worker-1 -w
  kubectl slipway status -o json | jq '.[] | select(.state == "blocked")'`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: t.completeNodes,
		RunE: func(command *cobra.Command, args []string) error {
			if err := s.nodes.take(args); err != nil {
				return err
			}
			if f := s.output.format; s.watch && (f == yamlText || f == names) {
				return usage("-o %s does not go with -w; -o json prints one object a change", f)
			}
			return t.status(command.Context(), s)
		},
	}
	s.nodes.addSelector(command)
	command.Flags().BoolVarP(&s.watch, "watch", "w", false, "go on showing what changes")
	s.output = addOutput(command.Flags(), jsonText, yamlText, wide, names)
	return command
}

func (t *tool) status(ctx context.Context, s *statusFlags) error {
	c, reader, err := t.open(ctx)
	if err != nil {
		return err
	}
	named := s.nodes.named
	if s.nodes.selector != "" {
		if named, err = t.withLabels(ctx, reader, &s.nodes); err != nil || len(named) == 0 {
			return err
		}
	}
	if s.watch {
		return t.watchStatus(ctx, c, s.output.format, named)
	}
	nodes, events, err := t.readStatus(ctx, reader)
	if err != nil {
		return err
	}
	all := overview(nodes, events, named)
	missing := notThere(nodes, all, named)
	if missing != nil && len(all) == 0 {
		return missing
	}
	if err := t.printStatus(s.output.format, all, nodes == nil); err != nil {
		return err
	}
	if f := s.output.format; f == people || f == wide {
		t.say(shortDelays(nodes, named))
	}
	return missing
}

// notThere says which of the nodes that are named nobody knows. Where Nodes may not be read,
// that cannot be told.
func notThere(nodes []*corev1.Node, all []nodeStatus, named []string) error {
	var missing []error
	for _, name := range named {
		shown := slices.ContainsFunc(all, func(s nodeStatus) bool { return s.Node == name })
		if nodes != nil && !shown {
			missing = append(missing, noSuchNode(name))
		}
	}
	return errors.Join(missing...)
}

// readStatus reads what the overview is of. Nodes are nil where they may not be read.
func (t *tool) readStatus(ctx context.Context, reader client.Reader) (all []*corev1.Node, _ []*lifecyclev1alpha1.LifecycleEvent, _ error) {
	var nodes corev1.NodeList
	err := reader.List(ctx, &nodes)
	switch {
	case apierrors.IsForbidden(err):
		t.sayNoNodes()
	case err != nil:
		return nil, nil, fmt.Errorf("list Nodes: %w", err)
	default:
		all = pointers(nodes.Items)
	}
	var events lifecyclev1alpha1.LifecycleEventList
	if err := reader.List(ctx, &events); err != nil {
		return nil, nil, fmt.Errorf("list LifecycleEvents: %w", err)
	}
	return all, pointers(events.Items), nil
}

func (t *tool) sayNoNodes() {
	fmt.Fprintln(t.ErrOut, "You may not list Nodes, so only those with LifecycleEvents are shown, and no cordons.")
}

func pointers[T any](items []T) []*T {
	all := make([]*T, 0, len(items))
	for i := range items {
		all = append(all, &items[i])
	}
	return all
}

func (t *tool) printStatus(f format, all []nodeStatus, nodesUnread bool) error {
	switch f {
	case jsonText, yamlText:
		if all == nil {
			all = []nodeStatus{}
		}
		return encode(t.Out, f, all)
	case names:
		for _, node := range slices.Compact(namesOf(all)) {
			fmt.Fprintln(t.Out, "node/"+node)
		}
		return nil
	default:
		if len(all) == 0 {
			t.say(nothingText(nodesUnread))
			return nil
		}
		_, err := fmt.Fprint(t.Out, statusTable(all, ui.StyleOf(t.Out, os.Getenv), t.clock.Now(), f == wide))
		return err
	}
}

func namesOf(all []nodeStatus) []string {
	var nodes []string
	for _, s := range all {
		nodes = append(nodes, s.Node)
	}
	return nodes
}
