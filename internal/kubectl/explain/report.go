// SPDX-License-Identifier: Apache-2.0

package explain

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/internal/reasons"
)

// State is how a node is, in a word.
type State string

// The states.
const (
	// InService: no event is bound to the node, and pods may run there.
	InService State = "InService"
	// Cordoned: no event is bound to the node, and it is unschedulable.
	Cordoned State = "Cordoned"
	// Drained: it is cordoned, because a drain of it succeeded.
	Drained State = "Drained"
	// GoingDown: its machine is being shut down, or is off.
	GoingDown State = "GoingDown"
	// Waiting: an event is not claimed yet.
	Waiting State = "Waiting"
	// Moving: an event is being driven.
	Moving State = "Moving"
	// Blocked: an event is claimed, and held up by what does not pass by itself.
	Blocked State = "Blocked"
	// Ended: an event has ended, and is not deleted yet.
	Ended State = "Ended"
	// Unknown: there is no such Node, or it cannot be read.
	Unknown State = "Unknown"
)

// Report is what is told of a node.
type Report struct {
	Node     string `json:"node"`
	State    State  `json:"state"`
	Headline string `json:"headline"`
	// Event is the LifecycleEvent that the headline is about.
	Event string `json:"event,omitempty"`
	// Causes are why it is not moving: what to look at first comes first.
	Causes []Cause `json:"causes,omitempty"`
	// Unlisted counts the blockers that the status of the events has no room for.
	Unlisted int `json:"unlisted,omitempty"`
	// Next is what can be done where nothing is going on.
	Next []Remedy `json:"next,omitempty"`
	// History is what has happened, in order.
	History []Moment `json:"history,omitempty"`
	// Unread is what could not be read: there may be more to tell.
	Unread []Unread `json:"unread,omitempty"`
}

// Cause is one thing that keeps an event from moving on.
type Cause struct {
	// Code is the reason code, and Place where it stands.
	Code  string        `json:"code"`
	Place reasons.Place `json:"place"`
	// Event is the LifecycleEvent that is held up.
	Event string `json:"event,omitempty"`
	// Objects are what is held up, as kind and name: for a blocker, pods or the node.
	Objects []string `json:"objects,omitempty"`
	// By is what is in the way, as kind and name. It may be empty.
	By string `json:"by,omitempty"`
	// Since when. It may be nil.
	Since *metav1.Time `json:"since,omitempty"`
	// Text says what is the matter.
	Text string `json:"text"`
	// Details are the arithmetic, and what else is known, a line each.
	Details []string `json:"details,omitempty"`
	// Passes tells that it is expected to end by itself.
	Passes bool `json:"passes"`
	// Remedies are what helps: the safest first.
	Remedies []Remedy `json:"remedies,omitempty"`
	// Reference is where the code is described, in the repository.
	Reference string `json:"reference,omitempty"`
}

// Remedy is something that helps.
type Remedy struct {
	Text string `json:"text"`
	// Command does it, or shows what is needed for it. It may be empty, where it is for
	// people to do.
	Command string `json:"command,omitempty"`
}

// Moment is something that has happened.
type Moment struct {
	Time metav1.Time `json:"time"`
	Text string      `json:"text"`
}
