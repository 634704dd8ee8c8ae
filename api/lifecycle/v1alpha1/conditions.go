// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// NodeConditionLifecycleTransition is the type of the Node condition whose reason
// is the state that the last event of the node has reached (KEP-5683). It is output
// only: progress is in the event's status.
const NodeConditionLifecycleTransition = "LifecycleTransition"

// The types of conditions of an event that every driver's events have.
const (
	// ConditionClaimable is False while something keeps a Pending event from being
	// claimed, and True from the claim on.
	ConditionClaimable = "Claimable"
	// ConditionDriverAvailable says of a claimed event whether its driver is there.
	ConditionDriverAvailable = "DriverAvailable"
	// ConditionStalled is True while nobody drives a claimed event because its agent is
	// dead, and False once it is back.
	ConditionStalled = "Stalled"
	// ConditionGuardsPassed is False while a guard holds the event at [GateGuards]; its
	// reason is the [Guard].
	ConditionGuardsPassed = "GuardsPassed"
	// ConditionLeaseHeld says of an event that takes its node out whether Slipway holds the
	// node's lease. It is False while somebody else does: then the event waits at [GateLease].
	// Only where the controller takes leases (--node-leases).
	ConditionLeaseHeld = "LeaseHeld"
	// ConditionFinished is True when the event has ended; its reason says how.
	ConditionFinished = "Finished"
)

// ConditionBudgetsOverridden is a driver's: True where it has removed pods although
// their disruption budgets did not allow it. Who was not asked must be told: the agent
// announces it in a core Event of the Node, with its message and with spec.requestedBy.
const ConditionBudgetsOverridden = "BudgetsOverridden"

// Reasons of ConditionClaimable.
const (
	// ReasonGated: spec.gates is not empty.
	ReasonGated = "Gated"
	// ReasonTransitionNotFound: no LifecycleTransition of that name (yet).
	ReasonTransitionNotFound = "TransitionNotFound"
	// ReasonDriverMissing: the driver is not registered on the node. Also a reason of
	// ConditionDriverAvailable.
	ReasonDriverMissing = "DriverMissing"
	// ReasonDriverNotReady: the driver is registered and does not answer. It has 30 s
	// before the event fails. Also a reason of ConditionDriverAvailable and of
	// ConditionFinished.
	ReasonDriverNotReady = "DriverNotReady"
	// ReasonWaitingForTurn: another event of the node comes first.
	ReasonWaitingForTurn = "WaitingForTurn"
	// ReasonNodeNotFound: there is no Node of that name (yet). Also a reason of
	// ConditionFinished, after a minute.
	ReasonNodeNotFound = "NodeNotFound"
	// ReasonAgentMissing: no pod of Slipway's agent is on the node. This and the two that
	// follow are also reasons of ConditionStalled.
	ReasonAgentMissing = "AgentMissing"
	// ReasonAgentNotReady: the agent's pod is not Ready.
	ReasonAgentNotReady = "AgentNotReady"
	// ReasonNodeNotReady: the Node is not Ready, so the agent may be dead.
	ReasonNodeNotReady = "NodeNotReady"
	// ReasonClaimed: it has been claimed.
	ReasonClaimed = "Claimed"
)

// Further reasons of ConditionStalled.
const (
	// ReasonAgentNotResponding: the agent is Ready, and has not ended the event 2 min after
	// it was deleted or its deadline has passed.
	ReasonAgentNotResponding = "AgentNotResponding"
	// ReasonClaimModeChanged: the controller claimed it in central mode, and does not
	// run in that mode any more.
	ReasonClaimModeChanged = "ClaimModeChanged"
	// ReasonAgentReady: the agent is back. The condition is False.
	ReasonAgentReady = "AgentReady"
)

// Reasons of ConditionGuardsPassed when it is True. When it is False, the reason is
// that of the [Guard].
const (
	// ReasonPassed: no guard has anything against it.
	ReasonPassed = "Passed"
	// ReasonAllowed: a guard has, and spec.allow lists it.
	ReasonAllowed = "Allowed"
)

// Reasons of ConditionLeaseHeld.
const (
	// ReasonHeld: Slipway holds the lease. The condition is True.
	ReasonHeld = "Held"
	// ReasonHeldByAnother: somebody else holds the lease. What waits for it waits until it
	// is given back, or expires.
	ReasonHeldByAnother = "HeldByAnother"
	// ReasonLeaseLost: the event has been claimed, and somebody else has taken the lease
	// since, which nobody renewed. What has begun goes on.
	ReasonLeaseLost = "LeaseLost"
)

// ReasonDriverRegistered is the reason of ConditionDriverAvailable when it is True.
const ReasonDriverRegistered = "DriverRegistered"

// Reasons of ConditionFinished.
const (
	// ReasonSucceeded: the end state was reached.
	ReasonSucceeded = "Succeeded"
	// ReasonSLAExpired: the deadline passed.
	ReasonSLAExpired = "SlaExpired"
	// ReasonCanceled: the event was deleted while it was claimed.
	ReasonCanceled = "Canceled"
	// ReasonNodeGone: the Node was deleted while the event was claimed.
	ReasonNodeGone = "NodeGone"
	// ReasonDriverFailed: the driver answered with an error.
	ReasonDriverFailed = "DriverFailed"
	// ReasonInvalidAnswer: the driver's answer breaks the contract.
	ReasonInvalidAnswer = "InvalidAnswer"
	// ReasonTransitionDoesNotApply: the transition does not apply to the node.
	ReasonTransitionDoesNotApply = "TransitionDoesNotApply"
	// ReasonInvalidParameters: spec.parameters is larger than 16 KiB.
	ReasonInvalidParameters = "InvalidParameters"
	// ReasonHomeChanged: the event is from before the API moved to another group and
	// back; it is ended, never acted on.
	ReasonHomeChanged = "HomeChanged"
)

// Reasons of the Node's conditions DrainInProgress and Drained (corev1.NodeDrainInProgress,
// corev1.NodeDrained). Where a drain ended otherwise, SlaExpired and Canceled are reasons
// as well.
const (
	// NodeReasonAdminRequested: DrainInProgress is True, because somebody asked for it.
	NodeReasonAdminRequested = "AdminRequested"
	// NodeReasonDrainBlocked: DrainInProgress is True, and nothing moves.
	NodeReasonDrainBlocked = "DrainBlocked"
	// NodeReasonDrainStarted: Drained is False, because a drain has begun.
	NodeReasonDrainStarted = "DrainStarted"
	// NodeReasonDrainCompleted: the drain has reached its end. Drained is True.
	NodeReasonDrainCompleted = "DrainCompleted"
	// NodeReasonDrainFailed: the drain has ended without reaching its end.
	NodeReasonDrainFailed = "DrainFailed"
	// NodeReasonNodeReturned: the node is in service again. Both are False.
	NodeReasonNodeReturned = "NodeReturned"
	// NodeReasonEventGone: the event that drained the node is gone, and nobody said how
	// it ended. Both are False.
	NodeReasonEventGone = "EventGone"
)

// MaxParametersBytes is the size limit of spec.parameters, as JSON.
const MaxParametersBytes = 16 << 10
