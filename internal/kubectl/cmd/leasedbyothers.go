// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	said "github.com/slipway-k8s/slipway/internal/node/lease"
	"github.com/slipway-k8s/slipway/nodelease"
)

// note takes in what a Node says of its lease.
func (n *nodeChoice) note(node *corev1.Node) {
	held, is := leasedByOthers(node)
	if !is {
		return
	}
	if n.leased == nil {
		n.leased = map[string]nodelease.Held{}
	}
	n.leased[node.Name] = held
}

// leasedByOthers is who has the lease of a node who is not Slipway, by what the Node says.
func leasedByOthers(node *corev1.Node) (held nodelease.Held, is bool) {
	held, is = said.Mirrored(node)
	return held, is && held.Holder != nodelease.Slipway
}

// mayReturn refuses to have nodes put back on which somebody else works: the event for that
// waits for nobody's lease, as nothing is to be in the way of a node that comes back. Who has
// leased a node may have it put back.
func (t *tool) mayReturn(ctx context.Context, n *nodeChoice) error {
	if len(n.leased) == 0 {
		return nil
	}
	l, err := t.leases()
	if err != nil {
		return err
	}
	user, _ := l.user(ctx) // whose name cannot be known has leased nothing
	var refusals []error
	for _, node := range slices.Sorted(maps.Keys(n.leased)) {
		held := n.leased[node]
		if standing, err := l.Get(ctx, node); err == nil { // else the Node is believed
			held = standing.Held
			if !standing.Taken {
				continue
			}
		}
		if !slices.Contains([]string{nodelease.Slipway, user, administratorOf(user)}, held.Holder) {
			refusals = append(refusals, fmt.Errorf("node %s is leased to %s; wait until it is given back, or, if nobody is at work there any more: "+
				"kubectl slipway lease release %s --force", node, holderText(held), node))
		}
	}
	if len(refusals) > 0 {
		return exit{Blocked, errors.Join(refusals...)}
	}
	return nil
}

// noteLeased names the nodes whose drains would wait for others.
func (t *tool) noteLeased(n *nodeChoice) {
	for _, node := range slices.Sorted(maps.Keys(n.leased)) {
		fmt.Fprintf(t.ErrOut, "Node %s is leased to %s: a drain waits until the lease is given back.\n", node, holderText(n.leased[node]))
	}
}

// holderText says who has a lease, and what for.
func holderText(held nodelease.Held) string {
	text := fmt.Sprintf("%q", ui.Clean(held.Holder))
	if held.Purpose != "" {
		text += fmt.Sprintf(" for %q", ui.Clean(held.Purpose))
	}
	return text
}
