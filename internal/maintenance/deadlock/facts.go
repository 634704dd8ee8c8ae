// SPDX-License-Identifier: Apache-2.0

package deadlock

import "time"

// Patience is for how long nothing may have changed before drains count as deadlocked. A
// replacement that is about to be scheduled, or to become Ready, is much faster.
const Patience = 60 * time.Second

// Facts are what is known at one moment.
type Facts struct {
	// Drains are the nodes that are out, whatever they do there.
	Drains []Drain
	// Budgets are the PodDisruptionBudgets that Drains name, as far as they are known.
	Budgets []Budget
}

// Drain is a node that is out.
type Drain struct {
	Node string
	// Refused are the budgets, as namespace/name, that refuse all pods that are left. Empty:
	// the drain moves, waits for something else, or is over.
	Refused []string
	// Since is when the last of that began.
	Since time.Time
	// Began is when the drain did.
	Began time.Time
	// Gone is how many pods have left.
	Gone int
	// MayGiveWay: the drain can be called off, and then the node takes pods.
	MayGiveWay bool
	// ComesBack: once it is drained, the node comes back by itself.
	ComesBack bool
}

// Budget is a PodDisruptionBudget, by its status.
type Budget struct {
	Name string
	// Expected, Desired and Allowed are expectedPods, desiredHealthy and disruptionsAllowed.
	Expected, Desired, Allowed int
	// Waiting are its pods that no node takes.
	Waiting []Waiting
}

// Waiting is a pod that the scheduler finds no node for.
type Waiting struct {
	// Pod as namespace/name.
	Pod string
	// Since is when it first found none.
	Since time.Time
	// Fits are the nodes of Drains on which it could run, were they not cordoned.
	Fits []string
}

// Decision is what was found.
type Decision struct {
	// Deadlocks do not depend on each other.
	Deadlocks []Deadlock
	// Ask: Facts.Budgets are needed.
	Ask bool
	// Wake is when to ask again, if nothing changes before; zero: never.
	Wake time.Time
}

// Deadlock is a number of nodes that wait for each other.
type Deadlock struct {
	// Nodes, two or more, and the Budgets that they wait for, sorted.
	Nodes, Budgets []string
	// GivesWay is the node that is to be returned, so that the others come to their end.
	// Empty: none may, or it would not help.
	GivesWay string
}
