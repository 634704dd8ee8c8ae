// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/internal/kubectl/state"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// Report contains the causes that block a node, and remedies.
type Report struct {
	Node string `json:"node"`
	// State is the state of the event in the headline, or otherwise of the node.
	State    state.State `json:"state"`
	Headline string      `json:"headline"`
	// Event is the LifecycleEvent in the headline.
	Event string `json:"event,omitempty"`
	// Causes block the events of the node. The most urgent is first.
	Causes []Cause `json:"causes,omitempty"`
	// Unlisted counts the blockers that the status of the events does not list.
	Unlisted int `json:"unlisted,omitempty"`
	// Next contains the possible actions for a node that has no event.
	Next []Remedy `json:"next,omitempty"`
	// History is the past, in order.
	History []Moment `json:"history,omitempty"`
	// Unread names kinds that could not be read: the report may be incomplete.
	Unread []Unread `json:"unread,omitempty"`
}

// HeldUp reports whether the event in the headline is in work, and a permanent cause blocks it.
func (r Report) HeldUp() bool {
	switch r.State {
	case state.Blocked, state.Stalled:
		return true
	case state.Draining, state.Returning, state.Running:
		return slices.ContainsFunc(r.Causes, func(c Cause) bool { return c.Event == r.Event && !c.Passes && c.Place != reasons.PodsLeft })
	default:
		return false
	}
}

// Cause blocks an event.
type Cause struct {
	// Code is the reason code, in that place.
	Code  string        `json:"code"`
	Place reasons.Place `json:"place"`
	// Event is the blocked LifecycleEvent.
	Event string `json:"event,omitempty"`
	// Objects are the blocked pods, node or event, as kind and name.
	Objects []string `json:"objects,omitempty"`
	// By is the obstacle, as kind and name. It may be empty.
	By string `json:"by,omitempty"`
	// Since is the beginning. It may be nil.
	Since *metav1.Time `json:"since,omitempty"`
	// Text describes the cause.
	Text string `json:"text"`
	// Details are the arithmetic, and other facts, a line each.
	Details []string `json:"details,omitempty"`
	// Passes means that the cause is expected to end by itself.
	Passes bool `json:"passes"`
	// Remedies end the cause. The safest is first.
	Remedies []Remedy `json:"remedies,omitempty"`
	// Reference is the address of the code in the documentation.
	Reference string `json:"reference,omitempty"`
}

// Remedy is an action against a cause.
type Remedy struct {
	Text string `json:"text"`
	// Command does it, or shows what is needed for it. It is empty where no command can.
	Command string `json:"command,omitempty"`
}

// Moment is a change with its time.
type Moment struct {
	Time metav1.Time `json:"time"`
	Text string      `json:"text"`
}
