// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// NodeConditionLifecycleTransition is the type of the Node condition that reports the last state
// that an event of the node has reached (KEP-5683). Its reason is the state. The condition is
// output only: the event's status has the progress.
const NodeConditionLifecycleTransition = "LifecycleTransition"

// Condition types of every event, for all drivers.
const (
	// ConditionClaimable is False while an obstacle prevents the claim of a Pending event, and
	// True after the claim.
	ConditionClaimable = "Claimable"
	// ConditionDriverAvailable reports the availability of the driver of a claimed event.
	ConditionDriverAvailable = "DriverAvailable"
	// ConditionStalled is True while no agent drives a claimed event because the agent is dead,
	// and False after the agent has recovered.
	ConditionStalled = "Stalled"
	// ConditionGuardsPassed is False while a guard holds the event at [GateGuards]. Its reason is
	// the [Guard].
	ConditionGuardsPassed = "GuardsPassed"
	// ConditionLeaseHeld reports, for an event that takes its node out of service, that Slipway
	// holds the node's lease. It is False while another holder has the lease: then the event
	// waits at [GateLease]. Only with node leases (--node-leases of the controller).
	ConditionLeaseHeld = "LeaseHeld"
	// ConditionFinished is True when the event has ended. Its reason is the outcome.
	ConditionFinished = "Finished"
)

// Condition types that the drain driver sets.
const (
	// ConditionTargetsReached is True when the pods that the drain covers have left the node. While
	// such pods are left and spec.parameters hold the drain, it is False.
	ConditionTargetsReached = "TargetsReached"
	// ConditionPodsLeft is True while the drain leaves pods or volumes in its scope on the node.
	ConditionPodsLeft = "PodsLeft"
	// ConditionSchedulable reports, for an event that returns its node to service, whether the node
	// is schedulable. It is False if a third party had cordoned the node before.
	ConditionSchedulable = "Schedulable"
	// ConditionBudgetsOverridden is True after the driver has removed pods against their
	// PodDisruptionBudgets. The agent announces this to the owners of the pods in a core Event of
	// the Node, with the message of the condition and with spec.requestedBy.
	ConditionBudgetsOverridden = "BudgetsOverridden"
)

// Reasons of ConditionClaimable.
const (
	// ReasonGated means that spec.gates is not empty.
	ReasonGated = "Gated"
	// ReasonTransitionNotFound means that no LifecycleTransition of that name exists (yet).
	ReasonTransitionNotFound = "TransitionNotFound"
	// ReasonDriverMissing means that the driver is not registered on the node. It is also a
	// reason of ConditionDriverAvailable and, after 10 min, of ConditionFinished.
	ReasonDriverMissing = "DriverMissing"
	// ReasonDriverNotReady means that the driver is registered but does not answer. The event
	// fails after 30 s. It is also a reason of ConditionDriverAvailable and of ConditionFinished.
	ReasonDriverNotReady = "DriverNotReady"
	// ReasonDriverRegisteredTwice means that the driver is registered both on the node and with the
	// controller. The event can be claimed after one of the two has deregistered.
	ReasonDriverRegisteredTwice = "DriverRegisteredTwice"
	// ReasonWaitingForTurn means that another event of the node comes first.
	ReasonWaitingForTurn = "WaitingForTurn"
	// ReasonNodeNotFound means that no Node of that name exists (yet). After a minute, it is also
	// a reason of ConditionFinished.
	ReasonNodeNotFound = "NodeNotFound"
	// ReasonAgentMissing means that no pod of Slipway's agent runs on the node. This reason and
	// the next two are also reasons of ConditionStalled.
	ReasonAgentMissing = "AgentMissing"
	// ReasonAgentNotReady means that the agent's pod is not Ready.
	ReasonAgentNotReady = "AgentNotReady"
	// ReasonNodeNotReady means that the Node is not Ready, so the agent may be dead.
	ReasonNodeNotReady = "NodeNotReady"
	// ReasonClaimed means that the event has been claimed.
	ReasonClaimed = "Claimed"
	// ReasonLeavesTurn means that the event has been claimed, and that its driver is not called yet:
	// the agent and the controller have claimed two events of the node at the same moment, and the
	// other one comes first.
	ReasonLeavesTurn = "LeavesTurn"
)

// Further reasons of ConditionStalled.
const (
	// ReasonAgentNotResponding means that the agent is Ready, but has not ended the event 2 min
	// after its deletion or its deadline.
	ReasonAgentNotResponding = "AgentNotResponding"
	// ReasonClaimModeChanged means that the controller claimed the event for a central driver, and
	// now runs without central drivers.
	ReasonClaimModeChanged = "ClaimModeChanged"
	// ReasonAgentReady means that the agent has recovered. The condition is False.
	ReasonAgentReady = "AgentReady"
)

// Reasons of ConditionGuardsPassed when it is True. When it is False, the reason is the [Guard], or one of a hold.
const (
	// ReasonPassed means that no guard objects.
	ReasonPassed = "Passed"
	// ReasonAllowed means that a guard objects, but spec.allow lists it.
	ReasonAllowed = "Allowed"
	// ReasonOnlyNode means that GuardLastSchedulableNode lets the event pass, because the cluster has
	// exactly one Node: evicted pods stay Pending until the node returns to service.
	ReasonOnlyNode = "OnlyNode"
)

// Further reasons of ConditionGuardsPassed when it is False. ReasonHeldByAnother is one, too: a user and a
// NodeMaintenance do not have a node out of service together.
const (
	// ReasonTooManyHolds means that the node has as many NodeHolds as are allowed.
	ReasonTooManyHolds = "TooManyHolds"
	// ReasonNodeAvailabilityBudget means that a NodeAvailabilityBudget allows no further node to be out of service.
	ReasonNodeAvailabilityBudget = "NodeAvailabilityBudget"
	// ReasonFrozen means that a Freeze selects the node.
	ReasonFrozen = "Frozen"
)

// Reasons of ConditionLeaseHeld.
const (
	// ReasonHeld means that Slipway holds the lease. The condition is True.
	ReasonHeld = "Held"
	// ReasonHeldByRequester means that the user who requested the event holds the lease, and that the event does not wait
	// for it. The condition is True.
	ReasonHeldByRequester = "HeldByRequester"
	// ReasonHeldByAnother means that another holder has the lease. Slipway waits until the holder
	// releases it, or until it expires.
	ReasonHeldByAnother = "HeldByAnother"
	// ReasonLeaseLost means that the event has been claimed, and another holder has acquired the
	// lease since, because Slipway did not renew it. Work in progress continues.
	ReasonLeaseLost = "LeaseLost"
)

// ReasonDriverRegistered is the reason of ConditionDriverAvailable when it is True.
const ReasonDriverRegistered = "DriverRegistered"

// Reasons of ConditionFinished.
const (
	// ReasonSucceeded means that the end state was reached.
	ReasonSucceeded = "Succeeded"
	// ReasonSLAExpired means that the deadline passed.
	ReasonSLAExpired = "SlaExpired"
	// ReasonCanceled means that the event was deleted while it was claimed.
	ReasonCanceled = "Canceled"
	// ReasonClaimReleased means that a third-party controller had claimed the event, and a person
	// released it ([ReleaseClaimAnnotation]).
	ReasonClaimReleased = "ClaimReleased"
	// ReasonHeldByOthers means that the event would have returned a node that other actors hold (NodeHold).
	// The holds of its requester are released, and the node stays out of service.
	ReasonHeldByOthers = "HeldByOthers"
	// ReasonNodeGone means that the Node was deleted while the event was claimed.
	ReasonNodeGone = "NodeGone"
	// ReasonDriverFailed means that the driver answered with an error.
	ReasonDriverFailed = "DriverFailed"
	// ReasonInvalidAnswer means that the driver's answer violates the contract.
	ReasonInvalidAnswer = "InvalidAnswer"
	// ReasonTransitionDoesNotApply means that the transition does not apply to the node.
	ReasonTransitionDoesNotApply = "TransitionDoesNotApply"
	// ReasonInvalidParameters means that spec.parameters is larger than 16 KiB.
	ReasonInvalidParameters = "InvalidParameters"
	// ReasonHomeChanged means that the event was created before the API moved to another group
	// and back. Slipway ends such an event, and never acts on it.
	ReasonHomeChanged = "HomeChanged"
)

// Reasons of the Node's conditions DrainInProgress and Drained (corev1.NodeDrainInProgress,
// corev1.NodeDrained). After other outcomes, SlaExpired and Canceled are reasons as well.
const (
	// NodeReasonAdminRequested means that a requester started the drain. DrainInProgress is True.
	NodeReasonAdminRequested = "AdminRequested"
	// NodeReasonNodeShutdown means that the machine is shutting down. DrainInProgress is True.
	NodeReasonNodeShutdown = "NodeShutdown"
	// NodeReasonDrainStarted means that a drain has begun. Drained is False.
	NodeReasonDrainStarted = "DrainStarted"
	// NodeReasonDrainCompleted means that the drain has reached its end. Drained is True.
	NodeReasonDrainCompleted = "DrainCompleted"
	// NodeReasonDrainFailed means that the drain has ended without reaching its end.
	NodeReasonDrainFailed = "DrainFailed"
	// NodeReasonNodeReturned means that the node is in service again. Both conditions are False.
	NodeReasonNodeReturned = "NodeReturned"
	// NodeReasonEventGone means that the event that drained the node was deleted without a
	// recorded outcome. DrainInProgress is False, and Drained is Unknown.
	NodeReasonEventGone = "EventGone"
)

// MaxParametersBytes is the size limit of spec.parameters, as JSON.
const MaxParametersBytes = 16 << 10
