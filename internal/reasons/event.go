// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"slices"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// lost is an entry for an event that is not claimed, or not driven, because of its agent.
func lost(code string) Entry {
	switch code {
	case lifecyclev1alpha1.ReasonAgentMissing:
		return stuck(code,
			"No pod of Slipway's agent is on the node.",
			"install its DaemonSet, or let it tolerate the node's taints; one at work has other labels, or is not in the controller's --namespace")
	case lifecyclev1alpha1.ReasonAgentNotReady:
		return passing(code, "The pod of the node's agent is not Ready.", "look at the agent's pod and its log")
	default:
		return passing(code, "The Node is not Ready, so its agent may be dead.", "look at the node and its kubelet")
	}
}

// claimable are the reasons why an event is not claimed.
var claimable = slices.Concat(
	ofCondition(
		lifecyclev1alpha1.ConditionClaimable, "False",
		stuck(lifecyclev1alpha1.ReasonGated,
			"Gates hold the event back: spec.gates is not empty. The controller owns slipway.dev/guards and slipway.dev/lease: see GuardsPassed and LeaseHeld.",
			"the owner of each gate removes it from spec.gates"),
		stuck(lifecyclev1alpha1.ReasonTransitionNotFound,
			"There is no LifecycleTransition with the name in spec.transitionName.",
			"start the driver that publishes it, or create the event again with the right name"),
		stuck(lifecyclev1alpha1.ReasonDriverMissing,
			"The driver of the transition is registered neither on the node nor with the controller.",
			"start the driver on the node"),
		stuck(lifecyclev1alpha1.ReasonDriverNotReady,
			"The driver is registered on the node and does not answer. The event fails after 30 s.",
			"look at the driver's log"),
		stuck(lifecyclev1alpha1.ReasonDriverRegisteredTwice,
			"The driver is registered both on the node and with the controller, so neither its agent nor the controller claims the event.",
			"stop the driver on the node, or the one in the controller's pod"),
		passing(lifecyclev1alpha1.ReasonWaitingForTurn,
			"Another event of the node comes first: Slipway works on one at a time.",
			"wait for the other event, or delete the one of the two that is not wanted"),
		stuck(lifecyclev1alpha1.ReasonNodeNotFound,
			"There is no Node with the name in spec.bindingNode. The event fails after a minute.",
			"create the event again with the right name, if it is wrong"),
		lost(lifecyclev1alpha1.ReasonAgentMissing),
		lost(lifecyclev1alpha1.ReasonAgentNotReady),
		lost(lifecyclev1alpha1.ReasonNodeNotReady),
	),
	ofCondition(
		lifecyclev1alpha1.ConditionClaimable, "True",
		fine(lifecyclev1alpha1.ReasonClaimed, "The event has been claimed."),
		passing(lifecyclev1alpha1.ReasonLeavesTurn,
			"The event has been claimed, and its driver is not called yet: the agent and the controller have claimed two events of the node at the same moment. The other event comes first.",
			"wait for the other event, or delete the one of the two that is not wanted"),
	),
)

// claimed are the reasons about the driver and the agent of a claimed event.
var claimed = slices.Concat(
	ofCondition(
		lifecyclev1alpha1.ConditionDriverAvailable, "True",
		fine(lifecyclev1alpha1.ReasonDriverRegistered, "The driver is registered on the node."),
	),
	ofCondition(
		lifecyclev1alpha1.ConditionDriverAvailable, "False",
		stuck(lifecyclev1alpha1.ReasonDriverMissing,
			"The driver is no longer registered. The event continues when the driver registers again. It fails after 10 min without the driver.",
			"start the driver on the node"),
		stuck(lifecyclev1alpha1.ReasonDriverNotReady,
			"The driver does not answer calls.",
			"look at the driver's log"),
	),
	ofCondition(
		lifecyclev1alpha1.ConditionStalled, "True",
		lost(lifecyclev1alpha1.ReasonAgentMissing),
		lost(lifecyclev1alpha1.ReasonAgentNotReady),
		lost(lifecyclev1alpha1.ReasonNodeNotReady),
		stuck(lifecyclev1alpha1.ReasonAgentNotResponding,
			"The agent is Ready, but has not ended the event within 2 min of its deadline or its deletion. The controller ends it.",
			"look at the agent's log: it may lack permissions"),
		stuck(lifecyclev1alpha1.ReasonClaimModeChanged,
			"The controller has claimed the event for a central driver, and now runs without central drivers.",
			"delete the event to cancel it, and create it again; or start the controller with its former drivers"),
	),
	ofCondition(
		lifecyclev1alpha1.ConditionStalled, "False",
		fine(lifecyclev1alpha1.ReasonAgentReady, "The agent is Ready again."),
	),
)

// guards are the objections of the controller's guards.
var guards = slices.Concat(
	ofCondition(
		lifecyclev1alpha1.ConditionGuardsPassed, "False",
		stuck(string(lifecyclev1alpha1.GuardLastSchedulableNode),
			"No other node is Ready, schedulable and without taints that keep ordinary pods away.",
			"let another node be Ready and schedulable; or add LastSchedulableNode to spec.allow"),
		stuck(string(lifecyclev1alpha1.GuardSecondControlPlaneNode),
			"Another node of the control plane is not Ready, is being taken out, or is cordoned by Slipway.",
			"wait until it returns; or add SecondControlPlaneNode to spec.allow"),
		stuck(lifecyclev1alpha1.ReasonHeldByAnother,
			"A NodeMaintenance has the node out of service, or a user while the event is a maintenance's. Both may work on the machine, so the event waits.",
			"wait until the holder returns the node; or ask the holder"),
		passing(lifecyclev1alpha1.ReasonWaitingForTurn,
			"The event returns the node. It waits for the end of an event that its requester has created before.",
			"wait; or cancel that event: kubectl slipway cancel NODE"),
		stuck(lifecyclev1alpha1.ReasonTooManyHolds,
			"Too many actors have the node out of service.",
			"let one of them return the node: kubectl get nodeholds"),
		stuck(lifecyclev1alpha1.ReasonNodeAvailabilityBudget,
			"A NodeAvailabilityBudget allows no further node to be out of service.",
			"return one of its nodes, or raise its limit: kubectl slipway budgets"),
		passing(lifecyclev1alpha1.ReasonFrozen,
			"A Freeze selects the node: no disruption of it begins.",
			"wait until the Freeze ends or is deleted: kubectl get freezes"),
	),
	ofCondition(
		lifecyclev1alpha1.ConditionGuardsPassed, "True",
		fine(lifecyclev1alpha1.ReasonPassed, "No guard objects to the event. Its gate is removed."),
		fine(lifecyclev1alpha1.ReasonAllowed, "A guard objects to the event, and spec.allow lists that guard. Its gate is removed."),
		fine(lifecyclev1alpha1.ReasonOnlyNode, "The cluster has exactly one Node, so the guard LastSchedulableNode only warns. "+
			"Evicted pods stay Pending until the node returns to service. The pods of Slipway stay on it."),
	),
)

// leases are the reasons about the lease of an event's node.
var leases = slices.Concat(
	ofCondition(
		lifecyclev1alpha1.ConditionLeaseHeld, "False",
		stuck(lifecyclev1alpha1.ReasonHeldByAnother,
			"Another holder has the lease of the node. The event continues when the lease is released, or expires.",
			"wait, or ask its holder to release it"),
		stuck(lifecyclev1alpha1.ReasonLeaseLost,
			"Slipway did not renew the lease of the node in time, and another holder has taken it. A drain continues; a maintenance starts no work on the node, and does not uncordon it.",
			"ask its holder to release it; find the reason that no controller of Slipway ran"),
	),
	ofCondition(
		lifecyclev1alpha1.ConditionLeaseHeld, "True",
		fine(lifecyclev1alpha1.ReasonHeld, "Slipway holds the lease of the node."),
		fine(lifecyclev1alpha1.ReasonHeldByRequester, "The requester of the event holds the lease of the node."),
	),
)

// ofReports are the codes that only kubectl slipway explain uses.
var ofReports = ofCondition(string(Explained), "False", passing(CodeNotNoticed,
	"Neither an agent nor the controller has reported on the event yet.",
	"if it stays, see whether Slipway's agent runs on the node, and its controller"),
	stuck(CodeClaimedByAnother,
		"A third-party controller has claimed the event. Slipway does not write, delete or release it, and the other events of the node wait.",
		"wait for its claimer; if the claimer no longer exists, a user with the verb release-claims releases the event"))

const again = "create the event again if it is still wanted"

// endings are the reasons why an event has ended.
var endings = ofCondition(
	lifecyclev1alpha1.ConditionFinished, "True",
	fine(lifecyclev1alpha1.ReasonSucceeded, "The transition reached its end state."),
	stuck(lifecyclev1alpha1.ReasonSLAExpired,
		"The deadline passed. The message has the progress and the first blocker.",
		"remove what blocks, or allow more time in spec.sla, and create the event again"),
	stuck(lifecyclev1alpha1.ReasonCanceled,
		"The event was deleted while it was claimed, which cancels it.",
		again),
	stuck(lifecyclev1alpha1.ReasonClaimReleased,
		"A third-party controller had claimed the event. A person with the permission release-claims released the event.",
		again),
	stuck(lifecyclev1alpha1.ReasonHeldByOthers,
		"The event would have returned a node that other actors hold. The holds of its requester are released.",
		"ask the other actors to return the node; or release their holds: kubectl slipway uncordon NODE --release-all"),
	stuck(lifecyclev1alpha1.ReasonNodeNotFound,
		"There was no Node with that name for a minute.",
		"create the event again with the right name in spec.bindingNode"),
	fine(lifecyclev1alpha1.ReasonNodeGone, "The Node was deleted while the event was claimed."),
	stuck(lifecyclev1alpha1.ReasonDriverFailed,
		"The driver reported a failure, which the message quotes.",
		"fix what the driver reports, and create the event again"),
	stuck(lifecyclev1alpha1.ReasonDriverNotReady,
		"The driver was registered on the node and did not answer for 30 s.",
		"look at the driver's log, and create the event again"),
	stuck(lifecyclev1alpha1.ReasonDriverMissing,
		"The driver deregistered while the event was claimed, and did not register again within 10 min.",
		"start the driver on the node, and create the event again"),
	stuck(lifecyclev1alpha1.ReasonInvalidAnswer,
		"The driver's answer violates the contract. The message names the field.",
		"report it to the maintainers of the driver"),
	stuck(lifecyclev1alpha1.ReasonTransitionDoesNotApply,
		"The transition does not apply to this node.",
		"create the event again with a transition that applies to the node"),
	stuck(lifecyclev1alpha1.ReasonInvalidParameters,
		"spec.parameters is larger than 16 KiB.",
		"create the event again with shorter parameters"),
	stuck(lifecyclev1alpha1.ReasonHomeChanged,
		"The event was created before the API moved to another group.",
		again),
)

// nodeStates are the reasons of condition LifecycleTransition of a Node: the state that the last
// event has reached. If the condition is False, it has the reason of condition Finished.
var nodeStates = ofCondition(
	string(NodeState), "True",
	fine("drain-started", "The node is being drained."),
	fine("drain-complete", "The node is drained, and cordoned until it is uncordoned."),
	fine("Draining", "The node is being drained, because its machine is shutting down."),
	fine("ShuttingDown", "The node is drained, and its machine goes down. The node is uncordoned when the machine has booted."),
	fine("uncordoning", "The node is being returned to service."),
	fine(lifecyclev1alpha1.StateMaintenanceComplete, "The node was returned to service."),
)
