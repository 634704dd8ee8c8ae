// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Call is what the agent asks about: one event.
type Call struct {
	// Transition is the name of the LifecycleTransition.
	Transition string
	// Event is the name of the LifecycleEvent.
	Event string
	// EventUID is what work is bound to: an event of the same name with another UID
	// is another piece of work. It is Event where the caller sends no UID.
	EventUID string
	// Node is the name of the node.
	Node string
	// StartState and EndState are the names of the two states.
	StartState, EndState string

	// Parameters is spec.parameters of the event as JSON; empty if it has none. They
	// may change while the event is going on.
	Parameters []byte
	// ParametersGeneration is the generation of the event that Parameters were read
	// at, 0 where the caller sends none. A call with a lower one is out of date.
	ParametersGeneration int64

	// Wait is how long End may hold its answer: at most 30 s, and 0 for Start, Stop
	// and callers that do not know of it.
	Wait time.Duration
}

// hasUID says whether EventUID tells events of one name apart.
func (c Call) hasUID() bool { return c.EventUID != c.Event }

// Answer is what a driver says about an event. Its slices must not be changed
// after it has been given away.
type Answer struct {
	// Done: the end state has been reached. It is the last answer that counts.
	Done bool
	// Message for people, in one line: what is going on, or what was done.
	Message string
	// Progress in units of the driver's own. Nil: unknown.
	Progress *Progress
	// Blockers is what holds the work up, the most telling first: 20 are passed on.
	Blockers []Blocker
	// BlockersTotal is how many there are in all. 0: as many as in Blockers.
	BlockersTotal int
	// LeftToResponders are the pods on the node that the driver leaves to those who respond
	// to Evictions (KEP-4563), instead of evicting them: Slipway's controller asks for
	// their evictions. 500 are passed on. Nil: nothing is said of that, and what was said
	// before stays; empty: none (any more).
	LeftToResponders []Pod
	// NodeConditions are wanted on the Node, EventConditions on the LifecycleEvent.
	// Both are output for people and monitoring: nothing is decided by them.
	NodeConditions, EventConditions []Condition
	// Waits: the driver honours Call.Wait. It then answers End as soon as there is
	// something to say that its last answer for the event did not say, and the agent
	// asks again at once. Without it, the agent asks every 10 s.
	Waits bool
}

// Progress is how far the work is.
type Progress struct {
	Total, Done int32
}

// Pod is one pod, and no other of the same name.
type Pod struct {
	Namespace, Name, UID string
}

// Blocker is one thing that holds the work up.
type Blocker struct {
	// Object that is held up, as kind and namespace/name: "Pod shop/cart-0".
	Object string
	// Reason is a CamelCase code.
	Reason string
	// By is what is in the way: "PodDisruptionBudget shop/cart".
	By string
	// Message for people: what is the matter, and what would help.
	Message string
	// Since when.
	Since time.Time
}

// Condition is a condition as in Kubernetes' API conventions.
type Condition struct {
	Type    string
	Status  metav1.ConditionStatus
	Reason  string
	Message string
}
