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
	// Of says by the name of each maintenance how far it is.
	Of map[string]Progress
}

// Progress is how far a maintenance is.
type Progress struct {
	// Reached are the lowest targets among its nodes that are reached, at most one for each
	// podType and podSelector (NM-9).
	Reached []slipwayv1alpha1.DrainTarget
	// Done: the last step is over on all of its nodes.
	Done bool
	// Message is "Draining", "Draining (limited by A, B)" or "Waiting for A.", or empty when
	// it is done.
	Message string
	// FastForwarded: its plan asks for less than one of its nodes has had already.
	FastForwarded bool
}
