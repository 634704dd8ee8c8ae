// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"slices"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

const (
	// Maintenance is a condition of a NodeMaintenance.
	Maintenance Place = "NodeMaintenance"
	// MaintenanceNode is status.nodeStatuses of a NodeMaintenance.
	MaintenanceNode Place = "MaintenanceNode"
)

// ofMaintenances is how a NodeMaintenance is, and how its nodes are.
var ofMaintenances = slices.Concat(
	ofCondition(
		string(Maintenance), "",
		Entry{
			Code: slipwayv1alpha1.ReasonAccepted, Means: "Nothing speaks against what the maintenance asks for.",
			Passes: true,
		},
		Entry{
			Code: slipwayv1alpha1.ReasonAllControlPlaneNodes, Means: "All nodes of the control plane are selected, and would be out at the same time. Nothing is done.",
			Helps: "select fewer, use spec.rollout, or list AllControlPlaneNodes in spec.allow",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonInvalidSelector, Means: "spec.nodeSelector cannot be understood. Nothing is done.",
			Helps: "correct spec.nodeSelector",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonNoNodes, Means: "No Node matches spec.nodeSelector.",
			Helps: "correct spec.nodeSelector, or label the nodes",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonIdle, Means: "It is planned, and nothing is done: spec.stage is Idle, or, with a rollout, Cordon.",
			Helps: "move spec.stage on when it is to begin",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonRunning, Means: "Nodes are on their way.",
			Passes: true,
		},
		Entry{
			Code: slipwayv1alpha1.ReasonPaused, Means: "spec.paused is true. Drains that are going on, go on.",
			Helps: "kubectl slipway maintenance resume NAME",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonPauseAfter, Means: "As many nodes have returned as spec.rollout.pauseAfter says.",
			Helps: "look at them, then kubectl slipway maintenance resume NAME",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonBeforeWindow, Means: "The window has not begun.",
			Passes: true,
		},
		Entry{
			Code: slipwayv1alpha1.ReasonWindowOver, Means: "The window is over, and nodes are left that have not begun.",
			Helps: "move spec.window.deadline, or create another maintenance for them",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonFailureThreshold, Means: "As many nodes have failed as spec.rollout.failureThreshold says. No more begin.",
			Helps: "look at them, then kubectl slipway maintenance retry NAME",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonPendingPods, Means: "Too many pods are Pending or not Ready that were created since the maintenance began. No more nodes begin until fewer are.",
			Helps: "look why the pods that it names do not run; add capacity, or raise spec.rollout.maxPendingPods",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonMaxUnavailable, Means: "As many nodes are out, or down by themselves, as may be. The next begins when one is back and healthy; one that is down for good holds them up for ever.",
			Helps: "look at the nodes that it names: mend them, delete those Nodes that do not come back, or raise spec.rollout.maxUnavailable",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonStepRefused, Means: "The API server, or a policy, refuses what is to be written next, and nothing else moves.",
			Helps: "do what the message says: delete what is in the way, give the right, or see to the webhook that refuses; it is tried again by itself",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonJobRefused, Means: "The Jobs of nodes cannot be created, and nothing else moves.",
			Helps: "do what the message says; it is tried again by itself",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonWaitingForOthers, Means: "Something else comes first: another maintenance of the same nodes, or a node of the control plane that is out.",
			Helps: "look at what it names", Passes: true,
		},
		Entry{
			Code: slipwayv1alpha1.ReasonDeadlock, Means: "Drains of nodes wait for each other, and none of the nodes may give way. They do not end.",
			Helps: "add room for the pods of the budgets that it names, relax these budgets, or have spec.nodeSelector select one of the nodes no more: it returns undone",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonDeadlockHeldBack, Means: "Drains of nodes wait for each other, and one of the nodes is returned so that the others come to their end.",
			Passes: true,
		},
		Entry{
			Code: string(lifecyclev1alpha1.GuardLastSchedulableNode), Means: "A guard holds the last node that pods can go to, and the other nodes that are out wait for it.",
			Helps: "let another node be Ready and schedulable; or list LastSchedulableNode in spec.allow of the NodeMaintenance",
		},
		Entry{
			Code: string(lifecyclev1alpha1.GuardSecondControlPlaneNode), Means: "A guard holds a node of the control plane while another one is out, and the other nodes that are out wait for it.",
			Helps: "let those return that are out; or, without a rollout, list AllControlPlaneNodes in spec.allow of the NodeMaintenance",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonDrained, Means: "No pod is left on the nodes that the plan is to move.",
			Passes: true,
		},
		Entry{
			Code: slipwayv1alpha1.ReasonDraining, Means: "Pods are left on the nodes that the plan is to move.",
			Passes: true,
		},
		Entry{
			Code: slipwayv1alpha1.ReasonCompleted, Means: "No node needs anything any more.",
			Passes: true,
		},
		Entry{
			Code: slipwayv1alpha1.ReasonIncomplete, Means: "Nodes are left that wait, or have failed, and nothing more is done for them.",
			Helps: "look at them, then kubectl slipway maintenance retry NAME, or end it: kubectl slipway maintenance abort NAME",
		},
	),
	ofCondition(
		string(MaintenanceNode), "",
		Entry{
			Code: slipwayv1alpha1.ReasonHookWaiting, Means: "A hook holds the node up.",
			Helps: "set annotation hook.slipway.dev/HOOK=Open on LifecycleEvent maintenance-NODE",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonHookTimeout, Means: "A hook was not opened in time.",
			Helps: "open it, then kubectl slipway maintenance retry NAME",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonGated, Means: "Something holds the event of the node back: a guard, a lease, a gate of somebody's.",
			Helps: "kubectl slipway explain NODE",
		},
		Entry{
			Code:  lifecyclev1alpha1.ReasonHeldByAnother,
			Means: "Somebody else works on the node and holds its lease. In a rollout, it begins after the others, and waits for the lease then.",
			Helps: "wait, or ask its holder to give it back", Passes: true,
		},
		Entry{
			Code:  lifecyclev1alpha1.ReasonLeaseLost,
			Means: "The node is out, and somebody else has its lease, or Slipway has yet to take it again. It stays as it is: no work begins, and it does not return.",
			Helps: "ask the holder to give the lease back; look why no controller of Slipway was there", Passes: true,
		},
		Entry{
			Code: string(lifecyclev1alpha1.GuardLastSchedulableNode), Means: "A guard holds the node: it is the last one that pods can go to.",
			Helps: "let another node be Ready and schedulable; or list LastSchedulableNode in spec.allow of the NodeMaintenance",
		},
		Entry{
			Code: string(lifecyclev1alpha1.GuardSecondControlPlaneNode), Means: "A guard holds the node: another one of the control plane is out, or not Ready.",
			Helps: "let that one return; or, without a rollout, list AllControlPlaneNodes in spec.allow of the NodeMaintenance",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonBlocked, Means: "Pods do not leave the node.",
			Helps: "kubectl slipway explain NODE",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonDeadlock, Means: "The node's drain and those of others wait for each other, for pods that find no node but these, and none of them may give way.",
			Helps: "add room for these pods, or relax the budgets; kubectl slipway maintenance retry NAME, if the nodes have given way as often as they may",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonDeadlockHeldBack, Means: "The node's drain and those of others waited for each other. It gives way: it takes pods again, and begins anew when these drains have ended.",
			Passes: true,
		},
		Entry{
			Code: "NodeUncordoned", Means: "Somebody else has uncordoned the node while it is out. Its drain cordons it again.",
			Helps: "find out who does, and have them wait for the maintenance", Passes: true,
		},
		Entry{
			Code: slipwayv1alpha1.ReasonWaitingForWork, Means: "The node is drained, and its work is waited for.",
			Helps: "do it, then kubectl slipway done NODE",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonJobRunning, Means: "The Job of the node is running.",
			Passes: true,
		},
		Entry{
			Code: slipwayv1alpha1.ReasonJobFailed, Means: "The Job of the node has failed, and is kept in Slipway's namespace.",
			Helps: "look at the log of its pod, then kubectl slipway maintenance retry NAME",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonJobInvalid, Means: "No Job can be made of spec.work.podTemplate.",
			Helps: "put a PodTemplate of that name into Slipway's namespace, or correct it",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonJobRefused, Means: "The Job of the node cannot be created: a right, a quota or a policy is in the way.",
			Helps: "do what the message says; it is tried again by itself",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonStepRefused, Means: "The API server, or a policy, refuses what is to be written next for the node: its LifecycleEvent, or what the Node says of maintenances. The node goes no step further.",
			Helps: "do what the message says: delete what is in the way, give the right, or see to the webhook that refuses; it is tried again by itself",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonWorkTimeout, Means: "The work was not done in time.",
			Helps: "look at the node, then kubectl slipway maintenance retry NAME",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonDrainFailed, Means: "The drain has failed. The node stays cordoned.",
			Helps: "remove the cause, then kubectl slipway maintenance retry NAME",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonDrainTimeout, Means: "The drain was not over in time.",
			Helps: "remove what blocks it, then kubectl slipway maintenance retry NAME",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonDrainCanceled, Means: "Somebody else has deleted the LifecycleEvent of the node's drain.",
			Helps: "kubectl slipway maintenance retry NAME, if the node is to be maintained all the same",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonReturnFailed, Means: "The return of the node has failed.",
			Helps: "look at the node, then kubectl slipway maintenance retry NAME",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonNodeNotReady, Means: "The node is back, and not Ready.",
			Helps: "look at the node and its kubelet; kubectl slipway done NODE --accept-unhealthy, if it is to count as back all the same",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonNodeCordoned, Means: "The node is back, and somebody has cordoned it.",
			Helps: "uncordon it",
		},
		Entry{
			Code: slipwayv1alpha1.ReasonDaemonSetsUnready, Means: "The node is back, and pods of DaemonSets there are not Ready.",
			Helps: "look at these pods; kubectl slipway done NODE --accept-unhealthy, if nobody can mend them",
		},
	),
)
