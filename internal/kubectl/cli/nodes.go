// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/internal/kubectl/survey"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/node/lease"
	"github.com/slipway-k8s/slipway/nodelease"
)

// Nodes are the nodes of a command: named ones, or those with labels.
type Nodes struct {
	Named    []string
	Selector string
	// Optional means that without names and selector the command is about all nodes.
	Optional bool
	// Leased are the leases, as the Nodes show them, whose holders are not Slipway.
	Leased map[string]nodelease.Held
	// Wanted are the NodeMaintenances that want the nodes, as the Nodes show them.
	Wanted map[string]string
}

// AddTo adds the flag --selector and the completion of names to a command, and reads its arguments.
func (n *Nodes) AddTo(command *cobra.Command, t *Tool) {
	n.AddSelector(command)
	command.ValidArgsFunction = t.CompleteNodes(0)
	command.Args = func(_ *cobra.Command, args []string) error { return n.Take(args) }
}

// AddSelector adds the flag --selector.
func (n *Nodes) AddSelector(command *cobra.Command) {
	command.Flags().StringVarP(&n.Selector, "selector", "l", "", "the nodes with these labels, such as zone=a,disk!=ssd")
}

// ForNode lets a command take one node.
func (t *Tool) ForNode(command *cobra.Command, run func(ctx context.Context, node string) error) *cobra.Command {
	command.Args = cobra.ExactArgs(1)
	command.ValidArgsFunction = t.CompleteNodes(1)
	command.RunE = func(command *cobra.Command, args []string) error {
		node, err := OneNode(args)
		if err != nil {
			return err
		}
		return run(command.Context(), node)
	}
	return command
}

// Take reads the arguments: worker-1, or node/worker-1.
func (n *Nodes) Take(args []string) error {
	if n.Selector != "" && len(args) > 0 {
		return Usagef("give names of nodes or --selector, not both")
	}
	if n.Selector == "" && len(args) == 0 && !n.Optional {
		return Usagef("the nodes are missing: give names, such as worker-1, or --selector")
	}
	if _, err := labels.Parse(n.Selector); err != nil {
		return Usagef("--selector: %w", err)
	}
	for _, arg := range args {
		name, ok := cutKind(arg, "node", "nodes", "no")
		if !ok {
			return Usagef("%q is no node: give its name, such as worker-1", arg)
		}
		if !slices.Contains(n.Named, name) {
			n.Named = append(n.Named, name)
		}
	}
	return nil
}

// OneNode reads the argument of a command for one node.
func OneNode(args []string) (string, error) {
	var n Nodes
	if err := n.Take(args); err != nil {
		return "", err
	}
	return n.Named[0], nil
}

// Pod reads an argument that names a pod: cart-0, or pod/cart-0.
func Pod(arg string) (name string, ok bool) { return cutKind(arg, "pod", "pods", "po") }

// Find returns the names of the nodes, and an error for a missing one. A caller without
// permission to read Nodes gets no error.
func (t *Tool) Find(ctx context.Context, reader client.Reader, n *Nodes) ([]string, error) {
	if n.Selector != "" {
		return t.WithLabels(ctx, reader, n)
	}
	var missing []error
	for _, name := range n.Named {
		var node corev1.Node
		err := reader.Get(ctx, client.ObjectKey{Name: name}, &node)
		switch {
		case apierrors.IsForbidden(err):
			t.Notef("You may not read Nodes, so it is not known whether there is a node %q.", name)
		case apierrors.IsNotFound(err):
			missing = append(missing, NoSuchNode(name))
		case err != nil:
			return nil, fmt.Errorf("get node %s: %w", name, err)
		default:
			n.Note(&node)
		}
	}
	return n.Named, errors.Join(missing...)
}

// WithLabels returns the names of the nodes that the selector selects.
func (t *Tool) WithLabels(ctx context.Context, reader client.Reader, n *Nodes) ([]string, error) {
	parsed, err := labels.Parse(n.Selector)
	if err != nil {
		return nil, Usagef("--selector: %w", err)
	}
	var nodes corev1.NodeList
	if err := reader.List(ctx, &nodes, client.MatchingLabelsSelector{Selector: parsed}); err != nil {
		return nil, fmt.Errorf("list the nodes with labels %s: %w", n.Selector, err)
	}
	var names []string
	for i := range nodes.Items {
		n.Note(&nodes.Items[i])
		names = append(names, nodes.Items[i].Name)
	}
	slices.Sort(names)
	if len(names) == 0 {
		t.Notef("No node has the labels %s.", n.Selector)
	}
	return names, nil
}

// ListNodes returns all Nodes, or nil where the caller may not list them: then it prints a note.
func (t *Tool) ListNodes(ctx context.Context, reader client.Reader, note string) ([]*corev1.Node, error) {
	var nodes corev1.NodeList
	err := reader.List(ctx, &nodes)
	switch {
	case apierrors.IsForbidden(err):
		t.Notef("You may not list Nodes, so %s.", note)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("list Nodes: %w", err)
	default:
		return Pointers(nodes.Items), nil
	}
}

// NoSuchNode is the error about a node that does not exist.
func NoSuchNode(name string) error { return survey.NoSuchNodeError{Name: name} }

// CompleteNodes completes names of nodes; most is as in [Tool.Complete].
func (t *Tool) CompleteNodes(most int) cobra.CompletionFunc {
	return t.Complete(most, func(ctx context.Context, _ []string) []string { return t.NodeNames(ctx) })
}

// NodeNames returns the names of all nodes, for completions.
func (t *Tool) NodeNames(ctx context.Context) (names []string) {
	c, err := t.Reach()
	if err != nil {
		return nil
	}
	clients, err := c.Kubernetes()
	if err != nil {
		return nil
	}
	nodes, err := clients.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	for _, node := range nodes.Items {
		names = append(names, node.Name)
	}
	return names
}

// NodeNamed returns the Node of a name, or nil.
func NodeNamed(nodes []*corev1.Node, name string) *corev1.Node {
	if i := slices.IndexFunc(nodes, func(n *corev1.Node) bool { return n.Name == name }); i >= 0 {
		return nodes[i]
	}
	return nil
}

// Note records the lease and the maintenances that a Node shows.
func (n *Nodes) Note(node *corev1.Node) {
	if n.Leased == nil {
		n.Leased, n.Wanted = map[string]nodelease.Held{}, map[string]string{}
	}
	if held, is := LeasedByOthers(node); is {
		n.Leased[node.Name] = held
	}
	if wanted := WantedBy(node); wanted != "" {
		n.Wanted[node.Name] = wanted
	}
}

// IsHolder reports whether the user holds a lease. Without a recorded user, the name of the holder counts.
func IsHolder(user string, held nodelease.Held) bool {
	if held.User != "" {
		return held.User == user
	}
	return held.Holder == user || held.Holder == AdministratorOf(user)
}

// LeasedByOthers returns the lease that a Node shows, if its holder is not Slipway.
func LeasedByOthers(node *corev1.Node) (held nodelease.Held, is bool) {
	held, is = lease.Mirrored(node)
	return held, is && held.Holder != nodelease.Slipway
}

// NoteLeased names the nodes whose drains would wait for other holders' leases.
func (t *Tool) NoteLeased(n *Nodes) {
	for _, node := range slices.Sorted(maps.Keys(n.Leased)) {
		t.Notef("Node %s is leased to %s: a drain waits for the release of the lease.", node, HolderText(n.Leased[node]))
	}
}

// WarnOfMaintenances names the running and the planned maintenances of the nodes.
func (t *Tool) WarnOfMaintenances(n *Nodes) {
	for _, node := range slices.Sorted(maps.Keys(n.Wanted)) {
		t.Notef("Warning: %s", n.Wanted[node])
	}
}

// HolderText names the holder of a lease, and its purpose.
func HolderText(held nodelease.Held) string {
	text := fmt.Sprintf("%q", ui.Clean(held.Holder))
	if held.User != "" && held.User != held.Holder && AdministratorOf(held.User) != held.Holder {
		text += fmt.Sprintf(" (user %q)", ui.Clean(held.User))
	}
	if held.Purpose != "" {
		text += fmt.Sprintf(" for %q", ui.Clean(held.Purpose))
	}
	return text
}
