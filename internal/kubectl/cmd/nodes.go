// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/internal/kubectl/survey"
	"github.com/slipway-k8s/slipway/nodelease"
)

// nodeChoice is which nodes a command is about: those that are named, or those with labels.
type nodeChoice struct {
	named    []string
	selector string
	// optional: without any of it, the command is about all nodes.
	optional bool
	// leased are those of the nodes that were found that somebody has leased who is not
	// Slipway, by what the Nodes say.
	leased map[string]nodelease.Held
}

func (n *nodeChoice) addSelector(command *cobra.Command) {
	command.Flags().StringVarP(&n.selector, "selector", "l", "", "the nodes with these labels, such as zone=a,disk!=ssd")
}

// take reads the arguments: worker-1, or node/worker-1.
func (n *nodeChoice) take(args []string) error {
	if n.selector != "" && len(args) > 0 {
		return usage("give names of nodes or --selector, not both")
	}
	if n.selector == "" && len(args) == 0 && !n.optional {
		return usage("say which nodes: by name, or by --selector")
	}
	if _, err := labels.Parse(n.selector); err != nil {
		return usage("--selector: %w", err)
	}
	for _, arg := range args {
		kind, name, found := strings.Cut(arg, "/")
		if !found {
			kind, name = "node", arg
		}
		if !slices.Contains([]string{"node", "nodes", "no"}, kind) || name == "" {
			return usage("%q is no node: give its name, such as worker-1", arg)
		}
		if !slices.Contains(n.named, name) {
			n.named = append(n.named, name)
		}
	}
	return nil
}

// find gives the names of the nodes, and fails if one is not there. Where the caller may
// not read Nodes, names are believed.
func (t *tool) find(ctx context.Context, reader client.Reader, n *nodeChoice) ([]string, error) {
	if n.selector != "" {
		return t.withLabels(ctx, reader, n)
	}
	var missing []error
	for _, name := range n.named {
		var node corev1.Node
		err := reader.Get(ctx, client.ObjectKey{Name: name}, &node)
		switch {
		case apierrors.IsForbidden(err):
			fmt.Fprintf(t.ErrOut, "You may not read Nodes, so it is not known whether there is a node %q.\n", name)
		case apierrors.IsNotFound(err):
			missing = append(missing, noSuchNode(name))
		case err != nil:
			return nil, fmt.Errorf("get node %s: %w", name, err)
		default:
			n.note(&node)
		}
	}
	return n.named, errors.Join(missing...)
}

func (t *tool) withLabels(ctx context.Context, reader client.Reader, n *nodeChoice) ([]string, error) {
	selector := n.selector
	parsed, err := labels.Parse(selector)
	if err != nil {
		return nil, usage("--selector: %w", err)
	}
	var nodes corev1.NodeList
	if err := reader.List(ctx, &nodes, client.MatchingLabelsSelector{Selector: parsed}); err != nil {
		return nil, fmt.Errorf("list the nodes with labels %s: %w", selector, err)
	}
	var names []string
	for i := range nodes.Items {
		n.note(&nodes.Items[i])
		names = append(names, nodes.Items[i].Name)
	}
	slices.Sort(names)
	if len(names) == 0 {
		fmt.Fprintf(t.ErrOut, "No node has the labels %s.\n", selector)
	}
	return names, nil
}

func noSuchNode(name string) error { return survey.NoSuchNodeError{Name: name} }

// completeNode is [tool.completeNodes] of a command for one node.
func (t *tool) completeNode(command *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return t.completeNodes(command, args, begun)
}

// completeNodes suggests the names of nodes that are not named yet.
func (t *tool) completeNodes(command *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	const patience = 3 * time.Second
	ctx, cancel := context.WithTimeout(command.Context(), patience)
	defer cancel()
	c, err := t.connect(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	reader, err := c.client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var nodes corev1.NodeList
	if err := reader.List(ctx, &nodes); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, node := range nodes.Items {
		if strings.HasPrefix(node.Name, begun) && !slices.Contains(args, node.Name) {
			names = append(names, node.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
