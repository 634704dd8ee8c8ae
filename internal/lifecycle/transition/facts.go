// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Facts is all that is known of one node when its next step is chosen. Next changes
// none of it.
type Facts struct {
	// NodeName is the name of the node.
	NodeName string
	// Node is nil where there is no such Node.
	Node *corev1.Node
	// CordonedFor are the UIDs of the events that the Node is cordoned for.
	CordonedFor []types.UID
	// Claimer is who we are: events that others claimed are not ours to drive.
	Claimer lifecyclev1alpha1.Claimer
	// Events are those bound to the node.
	Events []*lifecyclev1alpha1.LifecycleEvent
	// Transitions by name.
	Transitions map[string]*lifecyclev1alpha1.LifecycleTransition
	// Drivers by name. A driver that was never seen is missing since we began to look.
	Drivers func(name string) Driver
	// Calls to drivers by event UID, as far as we remember.
	Calls map[types.UID]Call
	// ReportedAt is when the progress of an event was written last, as far as we
	// remember.
	ReportedAt map[types.UID]time.Time
	// Since is when we began to look at the node.
	Since time.Time
	// HomeSince is when the API moved to the group that it is in. Events older than
	// that come from a storage of long ago. Zero: it never moved.
	HomeSince time.Time
	// FinishedEventTTL is how long events are kept after they have ended.
	FinishedEventTTL time.Duration
}

// Driver is what is known of a driver on the node.
type Driver struct {
	Registered bool
	// MissingSince is since when it is not registered.
	MissingSince time.Time
	// Unseen: it has not registered since we began to look. A process that has been at
	// work since before that may still come.
	Unseen bool
	// Checking is the event for which its readiness was asked for last, and since when.
	Checking      types.UID
	CheckingSince time.Time
	// Ready is whether it answered that check.
	Ready bool
}

// CallKind is which call to a driver.
type CallKind string

// The kinds of calls.
const (
	CallStart   CallKind = "Start"
	CallEnd     CallKind = "End"
	CallLastEnd CallKind = "LastEnd"
)

// Call is the last call to a driver for one event, or the one in flight.
type Call struct {
	Kind       CallKind
	InFlight   bool
	Generation int64
	StartedAt  time.Time
	EndedAt    time.Time
	// Failures counts the calls in a row that ended with "ask again".
	Failures int
	// Failure says what the last of them said.
	Failure string
	// Answer is the last answer to a call of any kind. It stays while the next call is
	// in flight.
	Answer *Answer
	// AnsweredKind is the kind of call that Answer answers; empty where there is none.
	AnsweredKind CallKind
}

// Answer is what a driver said.
type Answer struct {
	// Generation of the event at which it was asked.
	Generation int64
	// State is the lifecycle_condition.
	State string
	// NodeName is the node that the driver speaks of; empty: the one asked for.
	NodeName string
	// Error is not empty when the transition failed for good.
	Error string
	// Malformed is not empty when the answer could not be read; it says why.
	Malformed string
	Message   string
	Progress  *lifecyclev1alpha1.Progress
	Blockers  []lifecyclev1alpha1.Blocker
	// BlockersTotal counts all blockers, also those not listed.
	BlockersTotal   int32
	NodeConditions  []Condition
	EventConditions []Condition
	// LeftToResponders are the pods that the driver leaves to responders. Nil: it says
	// nothing of that.
	LeftToResponders []lifecyclev1alpha1.PodReference
	// Waits says that the driver holds its answers until there is something to say.
	Waits bool
}

// Condition is a condition that a driver wants on the node or the event.
type Condition struct {
	Type, Status, Reason, Message string
}
