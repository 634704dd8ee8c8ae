// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"slices"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

const again = "create the event again if it is still wanted"

// endings is how an event has ended.
var endings = ofCondition(
	lifecyclev1alpha1.ConditionFinished, "True",
	Entry{Code: lifecyclev1alpha1.ReasonSucceeded, Means: "The end state was reached.", Passes: true},
	Entry{
		Code: lifecyclev1alpha1.ReasonSLAExpired, Means: "The deadline passed. The message has the progress and the first blocker.",
		Helps: "remove what blocks, or allow more time in spec.sla, and create the event again",
	},
	Entry{Code: lifecyclev1alpha1.ReasonCanceled, Means: "The event was deleted while it was claimed: that cancels it.", Helps: again},
	Entry{
		Code: lifecyclev1alpha1.ReasonNodeNotFound, Means: "There was no Node of that name for a minute.",
		Helps: "create the event anew with the right name in spec.bindingNode",
	},
	Entry{Code: lifecyclev1alpha1.ReasonNodeGone, Means: "The Node was deleted while the event was claimed.", Passes: true},
	Entry{
		Code: lifecyclev1alpha1.ReasonDriverFailed, Means: "The driver gave up. Its words are in the message.",
		Helps: "mend what the driver says, and create the event again",
	},
	Entry{
		Code: lifecyclev1alpha1.ReasonDriverNotReady, Means: "The driver was registered on the node and did not answer for 30 s.",
		Helps: "look at the driver's log, and create the event again",
	},
	Entry{
		Code: lifecyclev1alpha1.ReasonInvalidAnswer, Means: "The driver breaks the contract. The message names the field.",
		Helps: "tell who makes the driver",
	},
	Entry{
		Code: lifecyclev1alpha1.ReasonTransitionDoesNotApply, Means: "The transition is for other nodes.",
		Helps: "create the event anew with a transition that applies to the node",
	},
	Entry{
		Code: lifecyclev1alpha1.ReasonInvalidParameters, Means: "spec.parameters is larger than 16 KiB.",
		Helps: "create the event anew with shorter parameters",
	},
	Entry{Code: lifecyclev1alpha1.ReasonHomeChanged, Means: "The event is from before the API moved to another group.", Helps: again},
)

// ofDrains are the reasons of conditions that the drain driver has besides blockers. What
// is left behind has the codes of blockers.
var ofDrains = slices.Concat(
	ofCondition(
		string(TargetsReached), "True",
		Entry{Code: "Reached", Means: "Nothing is left of what the drain is to move. With hold, the event goes on all the same.", Passes: true},
	),
	ofCondition(
		string(TargetsReached), "False",
		Entry{Code: "Draining", Means: "With hold: there is something to move. After a change of the parameters, wait until its observedGeneration is that of the event.", Passes: true},
	),
	ofCondition(
		string(PodsLeft), "True",
		Entry{
			Code: "LeftBehind", Means: "Pods or volumes are left on the node for several reasons, and the drain does not wait for them (any more). The message names ten, each with its reason.",
			Helps: "look up the reason of each", Passes: true,
		},
	),
	ofCondition(
		string(PodsLeft), "False",
		Entry{Code: "NoneLeft", Means: "Nothing is left behind, so far.", Passes: true},
	),
	ofCondition(
		lifecyclev1alpha1.ConditionBudgetsOverridden, "True",
		Entry{Code: "Escalated", Means: "Pods were deleted although their eviction was not accepted, as the event's escalation.deleteAfter asked for. The message names ten.", Passes: true},
	),
	ofCondition(
		string(Schedulable), "True",
		Entry{Code: "Returned", Means: "The node is schedulable: pods may run there again.", Passes: true},
	),
	ofCondition(
		string(Schedulable), "False",
		Entry{
			Code: "CordonedByOthers", Means: "Slipway's cordon is undone, somebody else's remains. The message names them.",
			Helps: "ask them; then kubectl uncordon the node",
		},
	),
)

// GracefulShutdown is condition GracefulNodeShutdownInProgress of the Node.
const GracefulShutdown Place = "GracefulNodeShutdownInProgress"

// shutdowns are what that condition says.
var shutdowns = slices.Concat(
	ofCondition(
		string(GracefulShutdown), "True",
		Entry{Code: "NodeShutdown", Means: "The machine is being shut down: its node is drained first, as far as there is time.", Passes: true},
	),
	ofCondition(
		string(GracefulShutdown), "False",
		Entry{Code: "ShutdownCanceled", Means: "The shutdown was called off. The drain for it is canceled, and the node returns.", Passes: true},
		Entry{Code: "ShutdownFinished", Means: "The machine has booted again, and its node was drained before it went down.", Passes: true},
		Entry{
			Code: "ShutdownUnfinished", Means: "The machine has booted again, and went down before its node was drained: pods were ended with it.",
			Helps: "see which pods did not leave in time (kubectl slipway explain NODE), and whether the machine gives them longer: InhibitDelayMaxSec of its logind",
		},
	),
)

// nodeStates are what condition LifecycleTransition of a Node says: the state that the last
// event has reached, or, where it is False, the reason of its condition Finished.
var nodeStates = ofCondition(
	string(NodeState), "True",
	Entry{Code: "drain-started", Means: "The node is being drained.", Passes: true},
	Entry{Code: "drain-complete", Means: "The node is drained, and cordoned until it is returned.", Passes: true},
	Entry{Code: "Draining", Means: "The node is being drained, because its machine is being shut down.", Passes: true},
	Entry{Code: "ShuttingDown", Means: "The node is drained, and its machine goes down. It returns when it has booted.", Passes: true},
	Entry{Code: "uncordoning", Means: "The node is being returned.", Passes: true},
	Entry{Code: lifecyclev1alpha1.StateMaintenanceComplete, Means: "The node was returned.", Passes: true},
)
