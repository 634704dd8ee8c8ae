// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"slices"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
)

// blockersOfNodes block a whole drain.
var blockersOfNodes = ofCondition(
	string(Blocker), "",
	blocker(drain.NodeNotCordoned, "The node is schedulable: it was uncordoned during the drain. The drain evicts nothing."),
	passingBlocker(drain.NodeTaintMissing, "The node is empty and cordoned, but the control plane has not tainted it yet, so new pods may still come."),
	passingBlocker(drain.NodeGone, "The Node was deleted; its pods remain. The drain evicts nothing."),
	passingBlocker(drain.APIServerUnavailable, "The API server cannot be reached, or cannot serve. The drain continues when it can."),
	passingBlocker(drain.APIServerOverloaded, "The API server asks clients to send fewer requests, so the drain pauses evictions."),
	blocker(drain.RuleInvalid, "A DrainRule is invalid, so the pods of its namespace stay."),
	blocker(drain.ReadRefused, "Slipway lacks a permission to read objects that the drain needs."),
)

// blockersOfPods block one pod each.
var blockersOfPods = ofCondition(
	string(Blocker), "",
	passingBlocker(drain.BudgetExhausted, "The PodDisruptionBudget (PDB) of the pod allows no disruption now. It will when more of its pods are healthy."),
	blocker(drain.BudgetImpossible, "The PodDisruptionBudget allows no disruption even when all of its pods are healthy: waiting does not help."),
	passingBlocker(drain.BudgetNotObserved, "The disruption controller has not yet processed the PodDisruptionBudget, or earlier evictions."),
	blocker(drain.BudgetSyncFailed, "The disruption controller cannot compute the PodDisruptionBudget, so the API server refuses each eviction."),
	blocker(drain.MultipleBudgets, "Several PodDisruptionBudgets select the pod. The API server does not evict such a pod."),
	blocker(drain.EvictionRefused, "The API server refuses the eviction for another reason than a PodDisruptionBudget: an admission webhook or policy, a missing permission, an internal error."),
	passingBlocker(drain.EvictionTimedOut, "The API server did not finish the eviction in time: an admission webhook is slow, or many clients write one PodDisruptionBudget."),
	blocker(drain.EvictionWithoutEffect, "The API server accepts each eviction, or denies that the pod exists, but the pod remains: a mutating webhook or policy makes its evictions dry runs, or the watch is late."),
	passingBlocker(drain.NamespaceTerminating, "The namespace of the pod is being deleted and allows no evictions. The pod is deleted with it."),
	blocker(drain.Terminating, "The grace period has ended, and the pod remains: a finalizer keeps it, or the kubelet has not confirmed its end."),
	blocker(drain.NodeNotReady, "The grace period has ended, and the kubelet of the node does not report: whether the containers have ended is unknown."),
	passingBlocker(drain.WaitingForCompletion, "A DrainRule, or the pod's own label, makes the drain wait until the pod has ended by itself."),
	passingBlocker(drain.Frozen, "A Freeze selects the node: the drain begins no eviction until the Freeze ends or is deleted."),
	passingBlocker(drain.PodTimedOut, "The pod is ending, within its grace period, but has used up the time that its rule gives it. Pods of later steps leave meanwhile."),
	blocker(drain.UnmanagedPod, "The pod has no controller that would start it again, and the event has unmanagedPods: Refuse. The drain evicts nothing."),
	blocker(drain.LocalStorage, "The pod has an emptyDir volume, whose content would be lost, and the event has localStorage: Refuse. The drain evicts nothing."),
	blocker(drain.DeletionRefused, "The API server refuses the deletion of the event's escalation: because of an admission webhook or policy, or a missing permission."),
	passingBlocker(drain.AwaitingResponder, "A responder works on the Eviction of the pod. The drain waits, and does not evict the pod meanwhile."),
	blocker(drain.ResponderMissing, "The event has mode: EvictionRequest, so the pod is left to responders, and no responder acts."),
	blocker(drain.RespondersFailed, "The event has mode: EvictionRequest, and the pod's Eviction has failed: all responders have tried, or it cannot succeed."),
	blocker(drain.EvictionAPIMissing, "The event has mode: EvictionRequest, and the server has no Evictions (lifecycle.k8s.io/v1alpha1), or Slipway lacks the permission to read them."),
)

// blockersOfTheEnd block the end of a drain, or are left behind.
var blockersOfTheEnd = ofCondition(
	string(Blocker), "",
	passingBlocker(drain.VolumeAttached, "A volume is still attached, and no pod on the node uses it. After volumeTimeout the drain ends, and leaves it attached."),
	passingBlocker(drain.PodRecurring, "Pods of this controller returned to the node after each eviction: they tolerate its taint, or name it in spec.nodeName. They are left behind."),
	passingBlocker(drain.PodSkipped, "A DrainRule, or the pod's own label, skips the pod, so it is left behind."),
	blocker(drain.StaticPodStays, "The event targets static pods, and this one stays: no slipway-host on the machine moves its manifest away, or the kubelet does not confirm that the pod has ended."),
	passingBlocker(drain.StaticPodLeft, "The event targets static pods, and slipway-host does not touch this one, which is part of the control plane. It is left behind."),
)

// ofDrains are the reasons of the drain driver's conditions. Pods and volumes that a drain leaves
// behind have the codes of blockers, too.
var ofDrains = slices.Concat(
	ofCondition(
		string(TargetsReached), "True",
		fine("Reached", "All pods that the drain targets have left. With hold, the event still continues."),
	),
	ofCondition(
		string(TargetsReached), "False",
		fine("Draining", "With hold: pods that the drain targets remain. After a change of the parameters, wait until the condition's observedGeneration is the generation of the event."),
	),
	ofCondition(
		string(PodsLeft), "True",
		passing("LeftBehind",
			"Pods or volumes are left on the node for several reasons, and the drain does not wait for them. The message names ten, each with its reason.",
			"look up the reason of each"),
	),
	ofCondition(
		string(PodsLeft), "False",
		fine("NoneLeft", "The drain leaves no pods behind, so far."),
	),
	ofCondition(
		lifecyclev1alpha1.ConditionBudgetsOverridden, "True",
		fine("Escalated", "The drain deleted pods whose eviction was not accepted, because of escalation.deleteAfter of the event. The message names ten."),
	),
	ofCondition(
		string(Schedulable), "True",
		fine("Returned", "The node is schedulable: pods may run there again."),
	),
	ofCondition(
		string(Schedulable), "False",
		stuck("CordonedByOthers",
			"Slipway's cordon is undone, a third-party cordon remains. The message names its owner.",
			"ask its owner; then kubectl uncordon the node"),
	),
)

// shutdowns are the reasons of condition GracefulNodeShutdownInProgress.
var shutdowns = slices.Concat(
	ofCondition(
		string(GracefulShutdown), "True",
		fine("NodeShutdown", "The machine is shutting down. Its node is drained first, as far as time allows."),
	),
	ofCondition(
		string(GracefulShutdown), "False",
		fine("ShutdownCanceled", "The shutdown was canceled. Its drain is canceled too, and the node is uncordoned."),
		fine("ShutdownFinished", "The machine has booted again, and its node was drained before it went down."),
		stuck("ShutdownUnfinished",
			"The machine has booted again, and went down before its node was drained: pods ended with it.",
			"see which pods did not leave in time (kubectl slipway explain NODE), and whether the machine gives them longer: InhibitDelayMaxSec of its logind"),
	),
)
