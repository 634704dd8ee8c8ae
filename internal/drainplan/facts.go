// SPDX-License-Identifier: Apache-2.0

package drainplan

import slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"

// Maintenance is one that drains.
type Maintenance struct {
	// Name tells it from others.
	Name string
	// Plan are its steps: what [Complete] returns.
	Plan []slipwayv1alpha1.DrainTarget
	// Nodes are the names of those that are out for it.
	Nodes []string
}

// Node is one that is out.
type Node struct {
	Name string
	// Targets are those that its drain has now. Nil: it is only cordoned.
	Targets []slipwayv1alpha1.DrainTarget
	// Reached: nothing is left that the targets cover.
	Reached bool
}

// Result is what follows.
type Result struct {
	// Targets that the drain of each node is to have, by its name: those that it has, or more.
	Targets map[string][]slipwayv1alpha1.DrainTarget
	// Messages say what goes on at each node, by its name: "Draining", "Draining (limited by A,
	// B)" or "Waiting for A.", or empty where no maintenance wants more and all is reached.
	Messages map[string]string
	// Of says by the name of each maintenance how far it is.
	Of map[string]Progress
}

// Progress is how far a maintenance is.
type Progress struct {
	// Reached are the lowest targets that one of its nodes is given, at most one for each
	// podType and podSelector: how far it has come (KEP-4212, reachedDrainTargets). Pods that
	// they cover may still be there.
	Reached []slipwayv1alpha1.DrainTarget
	// Done: nothing that its plan is to move is left on its nodes, pods that are terminating
	// included. It is false without nodes, and while a node has not reached what another
	// maintenance wants of it besides.
	Done bool
	// Message is "Draining", "Draining (limited by A, B)" or "Waiting for A.", or empty when
	// it is done or has no nodes.
	Message string
	// FastForwarded: the step that it is at asks for less than one of its nodes has already.
	// It is true, too, when a node has come later than others. [Exceeds] tells when a
	// maintenance comes to a node that is further.
	FastForwarded bool
}
