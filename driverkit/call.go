// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Call is a call of the agent for one event.
type Call struct {
	// Transition is the name of the LifecycleTransition.
	Transition string
	// Event is the name of the LifecycleEvent.
	Event string
	// EventUID identifies the work: an event of the same name with another UID is a
	// different piece of work. If the caller sends no UID, it equals Event.
	EventUID string
	// Node is the name of the node.
	Node string
	// StartState and EndState are the names of the two states.
	StartState, EndState string

	// Parameters is spec.parameters of the event as JSON; empty if it has none. They may
	// change during the event.
	Parameters []byte
	// ParametersGeneration is the generation of the event at which the caller read
	// Parameters, 0 if the caller sends none. A call with a lower generation is outdated.
	ParametersGeneration int64

	// OnlyNode means that the cluster has no other Node: pods of this node can start on no other node.
	OnlyNode bool

	// Wait is the maximum time for which End may delay its answer: at most 30 s, and 0 for
	// Start, Stop and callers that do not support it.
	Wait time.Duration
}

// hasUID reports whether EventUID distinguishes events of one name.
func (c Call) hasUID() bool { return c.EventUID != c.Event }

// Answer is a driver's report about an event. Do not change its slices after you have
// returned it.
type Answer struct {
	// Done means that the end state has been reached. The kit ignores later answers.
	Done bool
	// Message for users, in one line: the current activity, or the result.
	Message string
	// Progress in the driver's own units. Nil: unknown.
	Progress *Progress
	// Blockers are the obstacles of the work, the most relevant first. The kit sends 20.
	Blockers []Blocker
	// BlockersTotal is the number of all blockers. 0: the number in Blockers.
	BlockersTotal int
	// LeftToResponders are the pods on the node that the driver leaves to their responders
	// (KEP-4563) instead of evicting them: Slipway's controller requests their evictions.
	// The kit sends 500. Nil: no change of the last list; empty: no pods.
	LeftToResponders []Pod
	// NodeConditions belong on the Node, EventConditions on the LifecycleEvent. Both are
	// output for users and monitoring: Slipway makes no decision from them.
	NodeConditions, EventConditions []Condition
	// Waits means that the driver honours Call.Wait. It then answers End when its answer
	// differs from its last answer for the event, and the agent calls again at once.
	// Otherwise, the agent calls every 10 s.
	Waits bool
}

// Progress counts units of work.
type Progress struct {
	Total, Done int32
}

// Pod identifies one pod by its UID.
type Pod struct {
	Namespace, Name, UID string
}

// Blocker is one obstacle of the work.
type Blocker struct {
	// Object that is blocked, as kind and namespace/name: "Pod shop/cart-0".
	Object string
	// Reason is a CamelCase code.
	Reason string
	// By is the obstacle: "PodDisruptionBudget shop/cart".
	By string
	// Message for users: the cause and the remedy.
	Message string
	// Since is the time when the obstacle appeared.
	Since time.Time
}

// Condition is a condition as in Kubernetes' API conventions.
type Condition struct {
	Type    string
	Status  metav1.ConditionStatus
	Reason  string
	Message string
}
