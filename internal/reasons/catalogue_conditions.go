// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"slices"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// claimable is why an event is not claimed.
var claimable = slices.Concat(
	ofCondition(
		lifecyclev1alpha1.ConditionClaimable, "False",
		Entry{
			Code: lifecyclev1alpha1.ReasonGated, Means: "Gates hold the event back: spec.gates is not empty. slipway.dev/guards and slipway.dev/lease are the controller's: see GuardsPassed and LeaseHeld.",
			Helps: "the owner of each gate removes it from spec.gates",
		},
		Entry{
			Code: lifecyclev1alpha1.ReasonTransitionNotFound, Means: "There is no LifecycleTransition of the name in spec.transitionName.",
			Helps: "start the driver that publishes it, or create the event anew with the right name",
		},
		Entry{
			Code: lifecyclev1alpha1.ReasonDriverMissing, Means: "The driver of the transition is not registered on the node.",
			Helps: "start the driver on the node",
		},
		Entry{
			Code: lifecyclev1alpha1.ReasonDriverNotReady, Means: "The driver is registered on the node and does not answer. It has 30 s.",
			Helps: "look at the driver's log",
		},
		Entry{
			Code: lifecyclev1alpha1.ReasonWaitingForTurn, Means: "Another event of the node comes first: one at a time.",
			Helps: "wait for the other event, or delete the one of the two that is not wanted", Passes: true,
		},
		Entry{
			Code: lifecyclev1alpha1.ReasonNodeNotFound, Means: "There is no Node of the name in spec.bindingNode. It has a minute to register.",
			Helps: "create the event anew with the right name, if it is wrong",
		},
		lost(lifecyclev1alpha1.ReasonAgentMissing),
		lost(lifecyclev1alpha1.ReasonAgentNotReady),
		lost(lifecyclev1alpha1.ReasonNodeNotReady),
	),
	ofCondition(
		lifecyclev1alpha1.ConditionClaimable, "True",
		Entry{Code: lifecyclev1alpha1.ReasonClaimed, Means: "The event has been claimed.", Passes: true},
	),
)

// claimed is what happens to who drives an event that is claimed.
var claimed = slices.Concat(
	ofCondition(
		lifecyclev1alpha1.ConditionDriverAvailable, "True",
		Entry{Code: lifecyclev1alpha1.ReasonDriverRegistered, Means: "The driver is there.", Passes: true},
	),
	ofCondition(
		lifecyclev1alpha1.ConditionDriverAvailable, "False",
		Entry{
			Code: lifecyclev1alpha1.ReasonDriverMissing, Means: "The driver went away. The event goes on when it is back, or ends at its deadline.",
			Helps: "start the driver on the node",
		},
		Entry{
			Code: lifecyclev1alpha1.ReasonDriverNotReady, Means: "The driver does not answer calls.",
			Helps: "look at the driver's log",
		},
	),
	ofCondition(
		lifecyclev1alpha1.ConditionStalled, "True",
		lost(lifecyclev1alpha1.ReasonAgentMissing),
		lost(lifecyclev1alpha1.ReasonAgentNotReady),
		lost(lifecyclev1alpha1.ReasonNodeNotReady),
		Entry{
			Code: lifecyclev1alpha1.ReasonAgentNotResponding, Means: "The agent is Ready, and has not ended the event 2 min after its deadline or its deletion. The controller ends it.",
			Helps: "look at the agent's log: it may lack rights",
		},
		Entry{
			Code: lifecyclev1alpha1.ReasonClaimModeChanged, Means: "The event was claimed in central mode, and the controller runs in node mode now.",
			Helps: "delete the event to cancel it, and ask again; or start the controller with the claim mode it had",
		},
	),
	ofCondition(
		lifecyclev1alpha1.ConditionStalled, "False",
		Entry{Code: lifecyclev1alpha1.ReasonAgentReady, Means: "The agent is back.", Passes: true},
	),
)

// guards is what the controller's guards have against an event.
var guards = slices.Concat(
	ofCondition(
		lifecyclev1alpha1.ConditionGuardsPassed, "False",
		Entry{
			Code: string(lifecyclev1alpha1.GuardLastSchedulableNode), Means: "No other node is Ready, schedulable and without taints that keep ordinary pods away.",
			Helps: "let another node be Ready and schedulable; or add LastSchedulableNode to spec.allow",
		},
		Entry{
			Code: string(lifecyclev1alpha1.GuardSecondControlPlaneNode), Means: "Another node of the control plane is not Ready, is being taken out, or is cordoned by Slipway.",
			Helps: "wait until it is back; or add SecondControlPlaneNode to spec.allow",
		},
	),
	ofCondition(
		lifecyclev1alpha1.ConditionGuardsPassed, "True",
		Entry{Code: lifecyclev1alpha1.ReasonPassed, Means: "The guards have nothing against the event: the gate is gone.", Passes: true},
		Entry{Code: lifecyclev1alpha1.ReasonAllowed, Means: "A guard has something against the event, and spec.allow lists it: the gate is gone.", Passes: true},
	),
)

// leases is who holds the lease of an event's node.
var leases = slices.Concat(
	ofCondition(
		lifecyclev1alpha1.ConditionLeaseHeld, "False",
		Entry{
			Code: lifecyclev1alpha1.ReasonHeldByAnother, Means: "Somebody else works on the node and holds its lease. The event goes on when the lease is given back, or expires.",
			Helps: "wait, or ask its holder to give it back",
		},
		Entry{
			Code: lifecyclev1alpha1.ReasonLeaseLost, Means: "Nobody has renewed Slipway's lease of the node in time, and somebody else has taken it. Pods that leave go on leaving; a maintenance begins nothing on the node, and does not return it.",
			Helps: "ask its holder to leave the node alone; look why no controller of Slipway was there",
		},
	),
	ofCondition(
		lifecyclev1alpha1.ConditionLeaseHeld, "True",
		Entry{Code: lifecyclev1alpha1.ReasonHeld, Means: "Slipway holds the lease of the node.", Passes: true},
	),
)

// CodeNotNoticed is of reports alone: neither an agent nor the controller has said anything
// about an event.
const CodeNotNoticed = "NotNoticed"

// Explained is where the codes stand that are of reports alone.
const Explained Place = "explain"

var ofReports = ofCondition(string(Explained), "False", Entry{
	Code: CodeNotNoticed, Means: "Neither an agent nor the controller has said anything about the event yet.",
	Helps: "if it stays, see whether Slipway's agent runs on the node, and its controller", Passes: true,
})
