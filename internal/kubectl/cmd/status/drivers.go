// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/install/installer"
	"github.com/slipway-k8s/slipway/internal/kubectl/install/release"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/lifecycle/oversight"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
)

// driverList is the output of drivers.
type driverList struct {
	Drivers []driverRow `json:"drivers"`
	// Unread lists the facts that the caller may not read.
	Unread []string `json:"unread,omitempty"`
}

func newDrivers(t *cli.Tool) *cobra.Command {
	var output *cli.Output
	nodes := &cli.Nodes{Optional: true}
	command := &cobra.Command{
		Use:   "drivers [NODE...]",
		Short: "Show which drivers are registered on which node, and what they can do there",
		Long: `Shows for each node its registered lifecycle drivers, their LifecycleTransitions for the node, and
whether events can be claimed. Agents report the registered drivers some seconds after a change.`,
		Example: `  kubectl slipway drivers
  kubectl slipway drivers worker-1 -o json`,
		RunE: func(command *cobra.Command, _ []string) error {
			facts, unread, err := readDriverFacts(command.Context(), t, nodes.Named)
			if err != nil {
				return err
			}
			list := driverList{Drivers: facts.rows(), Unread: unread}
			return t.Print(output, cli.View{Value: list, Names: list.nodes(), Text: list.text})
		},
		ValidArgsFunction: t.CompleteNodes(0),
		Args:              func(_ *cobra.Command, args []string) error { return nodes.Take(args) },
	}
	output = cli.AddShow(command.Flags())
	return command
}

// nodes names the nodes of the list.
func (l driverList) nodes() (names []string) {
	for _, row := range l.Drivers {
		names = append(names, "node/"+row.Node)
	}
	return names
}

func (l driverList) text(style ui.Style, _ bool) string {
	rows := [][]ui.Cell{ui.Header("NODE", "DRIVER", "READY", "TRANSITIONS")}
	for _, row := range l.Drivers {
		ready := ui.Cell{Text: "yes", Tone: ui.Good}
		if !row.Ready {
			ready = ui.Cell{Text: "no", Tone: ui.Bad}
		}
		place := ""
		if row.Central {
			place = " (central)"
		}
		rows = append(rows, []ui.Cell{{Text: row.Node}, {Text: cli.OrDash(row.Driver) + place}, ready, {Text: cli.OrDash(strings.Join(row.Transitions, ", "))}})
		if row.Message != "" {
			rows = append(rows, []ui.Cell{{}, {}, {}, {Text: row.Message, Tone: ui.Warn}})
		}
	}
	p := cli.Page{Style: style}
	p.Add(style.Columns(rows))
	for _, what := range l.Unread {
		p.Text(ui.Plain, "", "not read: "+what)
	}
	return p.String()
}

// driverFacts are the facts about drivers on nodes.
type driverFacts struct {
	nodes       []corev1.Node
	transitions []lifecyclev1alpha1.LifecycleTransition
	// agents are the pods of agents, if podsRead.
	agents   []corev1.Pod
	podsRead bool
	// alone: the controller drains all nodes, and there are no agents.
	alone bool
	now   time.Time
}

// driverRow is a driver on a node: it is registered there, or its transitions are for the node.
type driverRow struct {
	Node   string `json:"node"`
	Driver string `json:"driver,omitempty"`
	// Central means that the driver is registered with the controller, for all nodes.
	Central     bool     `json:"central,omitempty"`
	Transitions []string `json:"transitions,omitempty"`
	// Ready means that events of its transitions can be claimed.
	Ready bool `json:"ready"`
	// Message is the reason if it is not ready.
	Message string `json:"message,omitempty"`
}

// rows returns the rows by node and driver. A node without drivers has a row, too.
func (f driverFacts) rows() []driverRow {
	var rows []driverRow
	for _, node := range f.nodes {
		registered, known := nodestate.Drivers(&node)
		if f.alone {
			registered = nil // of an agent that no longer runs
		}
		published, central := f.published(&node)
		names := slices.Sorted(maps.Keys(published))
		for _, name := range registered {
			if published[name] == nil {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			rows = append(rows, driverRow{Node: node.Name, Message: cmp.Or(f.loss(&node), "no driver is registered, and no transition is for this node")})
		}
		slices.Sort(names)
		for _, name := range names {
			row := driverRow{Node: node.Name, Driver: name, Central: central[name], Transitions: published[name]}
			row.Message = f.trouble(&node, row, slices.Contains(registered, name), known)
			row.Ready = row.Message == ""
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b driverRow) int { return strings.Compare(a.Node, b.Node) })
	return rows
}

// published returns the transitions for a node, by driver, and the drivers that are registered with the controller.
func (f driverFacts) published(node *corev1.Node) (found map[string][]string, central map[string]bool) {
	found, central = map[string][]string{}, map[string]bool{}
	for _, t := range f.transitions {
		if transition.Applies(&t, node) {
			found[t.Spec.Driver] = append(found[t.Spec.Driver], t.Name)
			central[t.Spec.Driver] = central[t.Spec.Driver] || lifecycleevent.RegisteredCentrally(&t)
		}
	}
	for _, names := range found {
		slices.Sort(names)
	}
	return found, central
}

// trouble returns the reason why a driver is not ready, or "".
func (f driverFacts) trouble(node *corev1.Node, row driverRow, registered, known bool) string {
	loss := f.loss(node)
	switch {
	case row.Central && registered && (!f.podsRead || len(f.agentsOn(node)) > 0):
		return "registered on this node and with the controller: its events wait until one of the two has left"
	case row.Central:
		return ""
	case f.alone:
		return "not registered with the controller, and there are no agents"
	case loss != "":
		return loss
	case !known:
		return "the agent has not written yet which drivers are registered"
	case !registered:
		return "not registered on this node: start the driver there"
	case len(row.Transitions) == 0:
		return "no LifecycleTransition of this driver is for this node"
	default:
		return ""
	}
}

// loss describes the trouble of the node's agent, or returns "".
func (f driverFacts) loss(node *corev1.Node) string {
	if f.alone || !f.podsRead {
		return ""
	}
	lost := oversight.AgentLoss(oversight.Facts{NodeName: node.Name, Node: node, AgentPods: f.agentsOn(node)}, f.now)
	if lost == nil {
		return ""
	}
	return lost.Advice()
}

// agentsOn returns the pods of agents on the node.
func (f driverFacts) agentsOn(node *corev1.Node) (pods []*corev1.Pod) {
	for i := range f.agents {
		if f.agents[i].Spec.NodeName == node.Name {
			pods = append(pods, &f.agents[i])
		}
	}
	return pods
}

// readDriverFacts reads the facts; unread lists the facts that the caller may not read.
func readDriverFacts(ctx context.Context, t *cli.Tool, names []string) (facts driverFacts, unread []string, err error) {
	facts.now = t.Clock.Now()
	c, err := t.Connect(ctx)
	if err != nil {
		return facts, nil, err
	}
	reader, err := client.New(c.Config, client.Options{HTTPClient: c.HTTP, Scheme: c.Home.Scheme(), Mapper: c.Home.Mapper()})
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
	namespace, central, err := readInstallation(ctx, c)
	if apierrors.IsForbidden(err) {
		unread, err = append(unread, err.Error()), nil
	}
	if err != nil {
		return facts, unread, err
	}
	var pods corev1.PodList
	err = reader.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels(oversight.AgentLabels()))
	if apierrors.IsForbidden(err) {
		return facts, append(unread, "whether the agents are well: "+err.Error()), nil
	}
	facts.agents, facts.podsRead = pods.Items, err == nil
	facts.alone = central && facts.podsRead && len(facts.agents) == 0
	return facts, unread, err
}

// readInstallation finds the namespace of the installation, and whether its controller drains.
func readInstallation(ctx context.Context, c cli.Cluster) (namespace string, central bool, err error) {
	on, err := installer.New(c.Config, c.HTTP)
	if err != nil {
		return "", false, err
	}
	installed, err := on.Installed(ctx)
	if err != nil || len(installed) == 0 {
		return release.Namespace, false, err
	}
	return installed[0].Namespace, installed[0].Mode == release.Central, nil
}

// readNodes reads the Nodes of these names, or all.
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
			return nil, cli.NoSuchNode(name)
		} else if err != nil {
			return nil, fmt.Errorf("read node %s: %w", name, err)
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}
