// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/internal/kubectl/state"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// Report says why a node is not moving, and what helps.
type Report struct {
	Node string `json:"node"`
	// State is that of the event that the headline is about, or else of the node.
	State    state.State `json:"state"`
	Headline string      `json:"headline"`
	// Event is the LifecycleEvent that the headline is about.
	Event string `json:"event,omitempty"`
	// Causes are why it is not moving, the most urgent first.
	Causes []Cause `json:"causes,omitempty"`
	// Unlisted counts the blockers that the status of the events does not list.
	Unlisted int `json:"unlisted,omitempty"`
	// Next says what can be done with a node that has no event.
	Next []Remedy `json:"next,omitempty"`
	// History is what has happened, in order.
	History []Moment `json:"history,omitempty"`
	// Unread is what could not be read: the report may lack something.
	Unread []Unread `json:"unread,omitempty"`
}

// HeldUp tells whether the event that the headline is about is in work, and something that
// does not pass by itself keeps it from moving on.
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

// Cause is one thing that keeps an event from moving on.
type Cause struct {
	// Code is the reason code, and Place where it stands.
	Code  string        `json:"code"`
	Place reasons.Place `json:"place"`
	// Event is the LifecycleEvent that is held up.
	Event string `json:"event,omitempty"`
	// Objects are the pods, the node or the event that are held up, as kind and name.
	Objects []string `json:"objects,omitempty"`
	// By is the obstacle, as kind and name. It may be empty.
	By string `json:"by,omitempty"`
	// Since when. It may be nil.
	Since *metav1.Time `json:"since,omitempty"`
	// Text describes the cause.
	Text string `json:"text"`
	// Details are the arithmetic, and other facts, a line each.
	Details []string `json:"details,omitempty"`
	// Passes means that the cause is expected to end by itself.
	Passes bool `json:"passes"`
	// Remedies are what helps, the safest first.
	Remedies []Remedy `json:"remedies,omitempty"`
	// Reference is where the documentation describes the code.
	Reference string `json:"reference,omitempty"`
}

// Remedy is something that helps.
type Remedy struct {
	Text string `json:"text"`
	// Command does it, or shows what is needed for it. It is empty where no command can.
	Command string `json:"command,omitempty"`
}

// Moment is something that has happened, with its time.
type Moment struct {
	Time metav1.Time `json:"time"`
	Text string      `json:"text"`
}
