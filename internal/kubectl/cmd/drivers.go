// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/install/installer"
	"github.com/slipway-k8s/slipway/internal/kubectl/install/release"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/lifecycle/oversight"
)

// driverList is what drivers prints.
type driverList struct {
	Drivers []driverRow `json:"drivers"`
	// Unread is what the caller may not read.
	Unread []string `json:"unread,omitempty"`
}

func newDrivers(t *tool) *cobra.Command {
	var output *outputFlag
	nodes := &nodeChoice{optional: true}
	command := &cobra.Command{
		Use:   "drivers [NODE...]",
		Short: "Say which drivers are registered on which node, and what they can do there",
		Long: `Says for each node which lifecycle drivers are registered with its agent, which
LifecycleTransitions they have for it, and whether events can be claimed there. Agents note
what is registered on their Node, some seconds after it has changed.`,
		Example: `  kubectl slipway drivers
  kubectl slipway drivers worker-1 -o json`,
		RunE: func(command *cobra.Command, args []string) error {
			if err := nodes.take(args); err != nil {
				return err
			}
			facts, unread, err := t.driverFacts(command.Context(), nodes.named)
			if err != nil {
				return err
			}
			list := driverList{Drivers: facts.rows(), Unread: unread}
			if output.format != people {
				return encode(t.Out, output.format, list)
			}
			return list.print(t.Out, ui.StyleOf(t.Out, os.Getenv))
		},
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: t.completeNodes,
	}
	output = addOutput(command.Flags(), jsonText, yamlText)
	return command
}

// driverFacts reads what the rows are made of. What may not be read is in unread.
func (t *tool) driverFacts(ctx context.Context, names []string) (facts driverFacts, unread []string, err error) {
	facts.now = t.clock.Now()
	c, err := t.connect(ctx)
	if err != nil {
		return facts, nil, err
	}
	reader, err := client.New(c.config, client.Options{HTTPClient: c.http, Scheme: c.home.Scheme(), Mapper: c.home.Mapper()})
	if err != nil {
		return facts, nil, fmt.Errorf("build a client: %w", err)
	}
	if facts.nodes, err = readNodes(ctx, reader, names); err != nil {
		return facts, nil, err
	}
	var transitions lifecyclev1alpha1.LifecycleTransitionList
	if err := reader.List(ctx, &transitions); err != nil {
		return facts, nil, fmt.Errorf("list the LifecycleTransitions: %w", err)
	}
	facts.transitions = transitions.Items
	namespace, err := facts.readInstallation(ctx, c)
	if apierrors.IsForbidden(err) {
		unread, err = append(unread, err.Error()), nil
	}
	if err != nil || facts.central {
		return facts, unread, err
	}
	var pods corev1.PodList
	err = reader.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels(oversight.AgentLabels()))
	if apierrors.IsForbidden(err) {
		return facts, append(unread, "whether the agents are well: "+err.Error()), nil
	}
	facts.agents, facts.podsRead = pods.Items, err == nil
	return facts, unread, err
}

// readInstallation finds out who works, and in which namespace.
func (f *driverFacts) readInstallation(ctx context.Context, c cluster) (namespace string, err error) {
	on, err := installer.New(c.config, c.http)
	if err != nil {
		return "", err
	}
	installed, err := on.Installed(ctx)
	if err != nil || len(installed) == 0 {
		return release.Namespace, err
	}
	f.central = installed[0].Mode == release.Central
	return installed[0].Namespace, nil
}

// readNodes reads those of the given names, or all.
func readNodes(ctx context.Context, reader client.Reader, names []string) ([]corev1.Node, error) {
	if len(names) == 0 {
		var all corev1.NodeList
		if err := reader.List(ctx, &all); err != nil {
			return nil, fmt.Errorf("list the nodes: %w", err)
		}
		slices.SortFunc(all.Items, func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
		return all.Items, nil
	}
	var nodes []corev1.Node
	for _, name := range names {
		var node corev1.Node
		if err := reader.Get(ctx, client.ObjectKey{Name: name}, &node); apierrors.IsNotFound(err) {
			return nil, noSuchNode(name)
		} else if err != nil {
			return nil, fmt.Errorf("read node %s: %w", name, err)
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}

func (l driverList) print(out io.Writer, style ui.Style) error {
	var rows [][]ui.Cell
	for _, row := range l.Drivers {
		ready := ui.Cell{Text: "yes", Tone: ui.Good}
		if !row.Ready {
			ready = ui.Cell{Text: "no", Tone: ui.Bad}
		}
		rows = append(rows, []ui.Cell{{Text: row.Node}, dashed(row.Driver), ready, dashed(strings.Join(row.Transitions, ", "))})
		if row.Message != "" {
			rows = append(rows, []ui.Cell{{}, {}, {}, {Text: row.Message, Tone: ui.Warn}})
		}
	}
	if err := style.Columns(out, []string{"NODE", "DRIVER", "READY", "TRANSITIONS"}, rows); err != nil {
		return err
	}
	for _, what := range l.Unread {
		printWrapped(out, style, "not read: "+what)
	}
	return nil
}

// dashed is a cell that is not empty.
func dashed(text string) ui.Cell {
	if text == "" {
		return ui.Cell{Text: "-", Tone: ui.Faint}
	}
	return ui.Cell{Text: text}
}
