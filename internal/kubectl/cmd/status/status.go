// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// statusFlags are the flags of status.
type statusFlags struct {
	nodes  cli.Nodes
	output *cli.Output
	watch  bool
}

func newStatus(t *cli.Tool) *cobra.Command {
	s := &statusFlags{nodes: cli.Nodes{Optional: true}}
	command := &cobra.Command{
		Use:   "status [NODE...] [-l SELECTOR]",
		Short: "Show the nodes out of service: holder, reason, start, expected return, progress, blockers, next step",
		Long: `Shows the nodes that have LifecycleEvents, are cordoned, or were drained; of named nodes also those
in service. WHO is the requester of an event and, after its end, the actors that hold the node
('kubectl get nodeholds'). UNTIL is the expected return of the node (--until of drain), and NEXT the next
step of the node. -o wide adds the LifecycleEvent. A report about an older spec of an event is marked (outdated).

With -w, it redraws a terminal at each change; elsewhere, each change of a node is a line, or one JSON
object with -o json.`,
		Example: `  kubectl slipway status
  kubectl slipway status worker-1 -w
  kubectl slipway status -o custom-columns=NODE:.node,STATE:.state
  kubectl slipway status -o json | jq '.items[] | select(.state == "blocked")'`,
		RunE: func(command *cobra.Command, _ []string) error {
			if s.watch {
				if err := s.output.Streams("does not go with -w"); err != nil {
					return err
				}
			}
			return runStatus(command.Context(), t, s)
		},
	}
	s.nodes.AddTo(command, t)
	command.Flags().BoolVarP(&s.watch, "watch", "w", false, "watch for changes")
	s.output = cli.AddShow(command.Flags())
	return command
}

func runStatus(ctx context.Context, t *cli.Tool, s *statusFlags) error {
	c, reader, err := t.Open(ctx)
	if err != nil {
		return err
	}
	named := s.nodes.Named
	if s.nodes.Selector != "" {
		if named, err = t.WithLabels(ctx, reader, &s.nodes); err != nil || len(named) == 0 {
			return err
		}
	}
	if s.watch {
		return watchStatus(ctx, t, c, s.output.Format, named)
	}
	f, err := listStatus(ctx, t, reader)
	if err != nil {
		return err
	}
	all, nodes := overview(f, named), f.nodes
	missing := notThere(nodes, all, named)
	if missing != nil && len(all) == 0 {
		return missing
	}
	if err := t.Print(s.output, statusView(t, all, nodes, named)); err != nil {
		return err
	}
	return missing
}

// statusView shows the overview. Nodes are nil for a caller that may not list them.
func statusView(t *cli.Tool, all []nodeStatus, nodes []*corev1.Node, named []string) cli.View {
	var names []string
	for _, s := range all {
		names = append(names, "node/"+s.Node)
	}
	return cli.View{Value: cli.List(all), Names: names, Text: func(style ui.Style, wide bool) string {
		return statusTable(all, style, t.Clock.Now(), wide, nodes == nil) + ui.CleanLines(shortDelays(nodes, named))
	}}
}

// notThere returns an error about the named nodes that do not exist. Without permission to list Nodes,
// that is unknown.
func notThere(nodes []*corev1.Node, all []nodeStatus, named []string) error {
	var missing []error
	for _, name := range named {
		shown := slices.ContainsFunc(all, func(s nodeStatus) bool { return s.Node == name })
		if nodes != nil && !shown {
			missing = append(missing, cli.NoSuchNode(name))
		}
	}
	return errors.Join(missing...)
}

const nodesUnread = "the list has only nodes with LifecycleEvents, and no cordons"

// listStatus reads the facts of the overview.
func listStatus(ctx context.Context, t *cli.Tool, reader client.Reader) (f facts, err error) {
	if f.nodes, err = t.ListNodes(ctx, reader, nodesUnread); err != nil {
		return f, err
	}
	var events lifecyclev1alpha1.LifecycleEventList
	if err := reader.List(ctx, &events); err != nil {
		return f, fmt.Errorf("list LifecycleEvents: %w", err)
	}
	var holds slipwayv1alpha1.NodeHoldList
	err = reader.List(ctx, &holds)
	switch {
	case apierrors.IsForbidden(err):
		t.Notef("You may not list NodeHolds, so drained nodes have no holders.")
	case client.IgnoreNotFound(err) != nil: // an older installation has none
		return f, fmt.Errorf("list NodeHolds: %w", err)
	}
	f.events, f.holds = cli.Pointers(events.Items), cli.Pointers(holds.Items)
	return f, nil
}

// shortDelays names the nodes whose machines hardly wait for their drains at a shutdown, although
// slipway-host delays it. Named are the nodes of the command; nil means all.
func shortDelays(nodes []*corev1.Node, named []string) string {
	var short []string
	for _, node := range nodes {
		delay, known := shutdown.DelayOn(node)
		if known && delay < shutdown.ShortDelay && (named == nil || slices.Contains(named, node.Name)) {
			short = append(short, fmt.Sprintf("%s (%s)", node.Name, delay))
		}
	}
	if len(short) == 0 {
		return ""
	}
	slices.Sort(short)
	const most = 5
	return fmt.Sprintf("\nMachines that shut down before the end of their drains, because logind delays a shutdown for less than %s there:\n  %s\n"+
		"For the remedy (InhibitDelayMaxSec), see %s.\n", shutdown.ShortDelay, cli.Few(short, most), reasons.Docs+"docs/how-to/shutdown.md")
}
