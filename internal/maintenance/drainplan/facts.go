// SPDX-License-Identifier: Apache-2.0

package drainplan

import slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"

// Maintenance is one that drains.
type Maintenance struct {
	// Name tells it from others.
	Name string
	// Plan are its steps: what [Complete] returns.
	Plan []slipwayv1alpha1.DrainTarget
	// Nodes are the names of those that are out for it. They wait for each other: one whose
	// drain has failed is not to be among them.
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
	// Done: the last step is over on all of its nodes, so that none of the pods is left that
	// the plan is to move, pods that are terminating included. Without nodes it is false.
	Done bool
	// Message is "Draining", "Draining (limited by A, B)" or "Waiting for A.", or empty when
	// it is done or has no nodes.
	Message string
	// FastForwarded: the step that it is at asks for less than a node has already, of which it
	// wants more. Where all of its nodes are further, it is at a later step, and this is
	// false: [Exceeds] tells when a maintenance comes to a node that is further.
	FastForwarded bool
}
