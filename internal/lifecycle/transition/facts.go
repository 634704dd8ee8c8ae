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
	// Claimer is the identity of this process. It drives only the events with that claimedBy.
	Claimer lifecyclev1alpha1.Claimer
	// Central has the facts that only the controller needs. Nil for an agent.
	Central *Central
	// Events are those bound to the node.
	Events []*lifecyclev1alpha1.LifecycleEvent
	// Transitions by name.
	Transitions map[string]*lifecyclev1alpha1.LifecycleTransition
	// Drivers by name. A driver that was never seen is missing since we began to look.
	Drivers func(name string) Driver
	// Calls to drivers by event UID, as far as we remember.
	Calls map[types.UID]Call
	// ReportedAt is the time of the last write of an event's progress, as far as we
	// remember.
	ReportedAt map[types.UID]time.Time
	// Since is the start of this process.
	Since time.Time
	// HomeSince is the time of the API's move to its present group. Older events come from an outdated storage. Zero: the
	// API never moved.
	HomeSince time.Time
	// Native means that the API server serves LifecycleEvents itself, and not by a CRD.
	Native bool
	// FinishedEventTTL is the time between the end of an event and its deletion.
	FinishedEventTTL time.Duration
}

// Central has the controller's facts about the other claimer of the node's events, its agent.
type Central struct {
	// NodeDrivers are the drivers that are registered with the agent.
	NodeDrivers []string
	// Agentless: no agent runs on the node.
	Agentless bool
	// Alone: the cluster has no agents, and the controller reports on all events.
	Alone bool
}

// Driver is the state of a driver that is registered with this process.
type Driver struct {
	Registered bool
	// MissingSince is the time of the deregistration.
	MissingSince time.Time
	// Unseen: the driver has not registered since this process started. A driver that started earlier may still register.
	Unseen bool
	// Checking is the event of the last readiness check, and CheckingSince its time.
	Checking      types.UID
	CheckingSince time.Time
	// Ready: the driver answered that check.
	Ready bool
}

// CallKind is a kind of call to a driver.
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
	// Failures counts the consecutive calls that ended with a retryable error.
	Failures int
	// Failure is the last of these errors.
	Failure string
	// Answer is the last answer to a call of any kind. It stays while the next call is
	// in flight.
	Answer *Answer
	// AnsweredKind is the kind of the call that Answer answers. It is empty if Answer is nil.
	AnsweredKind CallKind
}

// Answer is a driver's answer.
type Answer struct {
	// Generation of the event in the request.
	Generation int64
	// State is the lifecycle_condition.
	State string
	// NodeName is the node in the answer. Empty: the node of the request.
	NodeName string
	// Error is not empty when the transition failed for good.
	Error string
	// Malformed is the cause if the answer could not be decoded.
	Malformed string
	Message   string
	Progress  *lifecyclev1alpha1.Progress
	Blockers  []lifecyclev1alpha1.Blocker
	// BlockersTotal counts all blockers, also those not listed.
	BlockersTotal   int32
	NodeConditions  []Condition
	EventConditions []Condition
	// LeftToResponders are the pods that the driver leaves to responders. Nil: no change of the last list.
	LeftToResponders []lifecyclev1alpha1.PodReference
	// Waits: the driver delays its answers until they differ from the last one.
	Waits bool
}

// Condition is a condition that a driver wants on the node or the event.
type Condition struct {
	Type, Status, Reason, Message string
}
