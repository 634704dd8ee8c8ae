// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Status is the progress of a Drain at one moment.
type Status struct {
	// Total counts the pods in scope since this Drain began: gone pods and remaining pods.
	Total int
	// Done counts the gone pods. A terminating pod remains.
	Done int
	// Moving counts the remaining pods that make progress: the drain is sending their first eviction, a responder is working
	// on them (AwaitingResponder), or they are terminating within their time. If Moving is zero and there are Blockers, the
	// drain is blocked.
	Moving int
	// Blockers block the drain. They are sorted by pod and reason; the blockers of the node itself come first. A pod that only
	// waits for an earlier step has no Blocker.
	Blockers []Blocker
	// Reached: the drain has reached its targets. Drain returns, unless Request.Hold is set.
	Reached bool
	// Left are the pods and volumes in scope that the drain does not wait for, sorted by pod and reason. Their reasons are
	// PodRecurring, PodSkipped, StaticPodLeft and VolumeAttached.
	Left []Blocker
	// Named are the remaining pods that the drain leaves to responders (Request.Mode), sorted by namespace and name. A
	// controller must request their evictions. Nil: the drain has not yet read enough, and the names of an earlier run still
	// count.
	Named []PodReference
	// Static are the static pods whose removal is due and possible (Config.StaticPods), sorted by namespace and name. The caller
	// must let the process on the machine know. Removed pods leave the list and must stay removed.
	Static []PodReference
	// Overridden are the pods that were deleted although their eviction was not accepted (Request.Escalation).
	Overridden []types.NamespacedName
	// Message is a summary of one line.
	Message string
}

func (s Status) equal(o Status) bool { return reflect.DeepEqual(s, o) }

// PodReference identifies one pod, and no other pod of the same name.
type PodReference struct {
	types.NamespacedName
	UID types.UID
}

// Blocker is a cause that blocks the drain or one pod.
type Blocker struct {
	// Pod is the blocked pod. It is empty if the cause blocks the whole drain.
	Pod types.NamespacedName
	// Reason is for programs.
	Reason Reason
	// By names the blocking object, as the comment of the Reason defines. It may be empty.
	By string
	// Message describes cause and remedy: [Reason.Help], or a more precise remedy. Programs must not parse it.
	Message string
	// Since is the time at which this Drain first saw the Blocker. It stays the same while Pod, Reason and By do.
	Since time.Time
}

// Reason is the kind of a Blocker.
type Reason string

// Reasons that block the whole drain.
const (
	// NodeNotCordoned: the node is schedulable, so the drain evicts no pod. By is the node.
	NodeNotCordoned Reason = "NodeNotCordoned"
	// NodeTaintMissing: no pod is left, but the node does not carry the taint node.kubernetes.io/unschedulable:NoSchedule
	// yet, so new pods may still come. By is the node.
	NodeTaintMissing Reason = "NodeTaintMissing"
	// NodeGone: the Node object does not exist, but pods of it do. By is the node.
	NodeGone Reason = "NodeGone"
	// APIServerUnavailable: the API server cannot be reached, or cannot serve. By is empty, or the object of the read.
	APIServerUnavailable Reason = "APIServerUnavailable"
	// APIServerOverloaded: the API server requests fewer requests.
	APIServerOverloaded Reason = "APIServerOverloaded"
	// RuleInvalid: the drain cannot understand a rule, so the pods of its namespace stay. By is the object of the read.
	RuleInvalid Reason = "RuleInvalid"
	// ReadRefused: the API server refuses a read that the drain needs. By is the object of the read.
	ReadRefused Reason = "ReadRefused"
)

// Reasons that block one pod. For the reasons of budgets, By is the budget, or the budgets.
const (
	// BudgetExhausted: the pod's PodDisruptionBudget (PDB) allows no disruption now.
	BudgetExhausted Reason = "BudgetExhausted"
	// BudgetImpossible: the budget allows no disruption however healthy its pods are. It cannot unblock by itself.
	BudgetImpossible Reason = "BudgetImpossible"
	// BudgetNotObserved: the budget's controller has not seen the newest version of the budget, or earlier evictions.
	BudgetNotObserved Reason = "BudgetNotObserved"
	// BudgetSyncFailed: the budget's controller reports that it cannot compute the budget.
	BudgetSyncFailed Reason = "BudgetSyncFailed"
	// MultipleBudgets: several budgets select the pod; the server evicts no such pod.
	MultipleBudgets Reason = "MultipleBudgets"
	// EvictionRefused: the server refused the eviction for another reason than a budget: an admission webhook, missing
	// permissions, an internal error.
	EvictionRefused Reason = "EvictionRefused"
	// EvictionTimedOut: the server did not finish the eviction in time: a slow admission webhook, or many writers of one
	// budget.
	EvictionTimedOut Reason = "EvictionTimedOut"
	// EvictionWithoutEffect: for half a minute or more the server has accepted each eviction, or has not found the pod, but the
	// watch shows that the pod does not end: a webhook or policy makes the eviction a dry run, or the watch is late.
	EvictionWithoutEffect Reason = "EvictionWithoutEffect"
	// NamespaceTerminating: the pod's namespace is being deleted and accepts no evictions. By is the namespace.
	NamespaceTerminating Reason = "NamespaceTerminating"
	// Terminating: the pod has not ended although its grace period is over. By are its finalizers, if it has any.
	Terminating Reason = "Terminating"
	// NodeNotReady: the pod has not ended although its grace period is over, and the node's kubelet does not report. By
	// is the node.
	NodeNotReady Reason = "NodeNotReady"
	// WaitingForCompletion: a rule, or the pod's BehaviorLabel, makes the drain wait until the pod has ended by itself. By is the rule.
	WaitingForCompletion Reason = "WaitingForCompletion"
	// Frozen: a rule keeps the pod on the node while it exists (Freeze). By is the rule.
	Frozen Reason = "Frozen"
	// PodTimedOut: the pod is ending within its grace period, but its time is over, so the pods of later steps leave too.
	// By is empty.
	PodTimedOut Reason = "PodTimedOut"
	// UnmanagedPod: the pod has no controller, and the request refuses such pods. By is empty.
	UnmanagedPod Reason = "UnmanagedPod"
	// LocalStorage: the pod has an emptyDir volume, and the request refuses such pods. By is the volume.
	LocalStorage Reason = "LocalStorage"
	// DeletionRefused: the server refused a deletion of the request's Escalation. By is empty.
	DeletionRefused Reason = "DeletionRefused"
)

// Reasons that block a pod that is left to responders. By is its Eviction, if it has one.
const (
	// AwaitingResponder: a responder is working on the pod's Eviction.
	AwaitingResponder Reason = "AwaitingResponder"
	// ResponderMissing: the request leaves the pod to responders, and no responder acts.
	ResponderMissing Reason = "ResponderMissing"
	// RespondersFailed: the request leaves the pod to responders, and its Eviction has failed.
	RespondersFailed Reason = "RespondersFailed"
	// EvictionAPIMissing: the request leaves the pod to responders, and the drain can read no Evictions from the server.
	EvictionAPIMissing Reason = "EvictionAPIMissing"
)

// Reasons of static pods (PodTypeStatic). By is empty.
const (
	// StaticPodStays: no process removes the pod's manifest, or its kubelet does not confirm that the pod has ended.
	StaticPodStays Reason = "StaticPodStays"
	// StaticPodLeft: Config.StaticPods keeps the pod on the node, and the drain does not wait for it.
	StaticPodLeft Reason = "StaticPodLeft"
)

// Reasons that block the end of a drain, or describe its rest.
const (
	// VolumeAttached: a volume that no remaining pod uses is still attached to the node. By is the volume, as
	// Node.status.volumesAttached names it.
	VolumeAttached Reason = "VolumeAttached"
	// PodRecurring: pods of this controller returned to the node again and again, so the drain leaves them. By is the
	// controller.
	PodRecurring Reason = "PodRecurring"
	// PodSkipped: a rule, or the pod's BehaviorLabel, keeps the pod. By is the rule.
	PodSkipped Reason = "PodSkipped"
)

// Help returns the general remedy for the reason: a part of a sentence. Messages of blockers end with it, or with a more
// precise remedy. It is empty for a Reason of another package.
func (r Reason) Help() string { return helps[r] }

var helps = map[Reason]string{
	NodeNotCordoned:       "cordon the node again, or cancel the drain if the node must stay in service",
	NodeTaintMissing:      "if it stays, look at kube-controller-manager, which adds the taint",
	NodeGone:              "if it stays, look at the pod garbage collector of kube-controller-manager",
	APIServerUnavailable:  "if it stays, look at the API server, and at the network between it and the node",
	APIServerOverloaded:   "if it stays, look at the load of the API server and at its priority levels",
	RuleInvalid:           "correct the rule, or delete it",
	ReadRefused:           "give the identity that drains its permissions again",
	BudgetExhausted:       "let its pods become Ready elsewhere, add replicas, or relax the budget",
	BudgetImpossible:      "add a replica, or relax the budget",
	BudgetNotObserved:     "if it stays, look at kube-controller-manager",
	BudgetSyncFailed:      "correct the budget, or give its pods a controller that has a scale",
	MultipleBudgets:       "change their selectors so that one remains, or delete the other budgets",
	EvictionRefused:       "look at the webhook or policy in the message; the drain tries again with growing pauses",
	EvictionTimedOut:      "look at the admission webhooks for pods/eviction; the drain tries again with growing pauses",
	EvictionWithoutEffect: "look for a webhook or policy that makes evictions of the pod dry runs; the drain tries again",
	NamespaceTerminating:  "if it stays, look at the conditions of the namespace",
	Terminating:           "have the owner of the finalizer remove it, or look at the pod's containers and volumes on the node",
	NodeNotReady:          "repair the node; once the machine is certainly off, add the taint node.kubernetes.io/out-of-service",
	WaitingForCompletion:  "end its work, or give a rule a deadline",
	Frozen:                "wait until the freeze ends",
	PodTimedOut:           "wait until its grace period is over",
	UnmanagedPod:          "delete the pod yourself, or allow it in the parameters (unmanagedPods: Evict)",
	LocalStorage:          "delete the pod yourself, or allow it in the parameters (localStorage: Evict)",
	DeletionRefused:       "look at the webhook or policy in the message, and at the permissions of the identity that drains",
	AwaitingResponder:     "if it takes too long, look at that responder; the next one acts after a silence of 20 min",
	ResponderMissing:      "see that a controller works on EvictionRequests (Slipway's: --eviction-requests), or change the mode in the parameters",
	RespondersFailed:      "look at the pod's responders, or change the mode in the parameters",
	EvictionAPIMissing:    "enable or install that API and let Slipway read it, or change the mode in the parameters",
	StaticPodStays:        "see that slipway-host removes static pods there (--static-pods), or move its manifest out of the kubelet's folder yourself",
	StaticPodLeft:         "if it must leave, allow that on the machine (slipway-host: --control-plane-static-pods)",
	VolumeAttached:        "look at the volume's CSI driver, and at its VolumeAttachment",
	PodRecurring:          "remove the toleration, or let a rule skip them",
	PodSkipped:            "if it must leave, change the rule or the label",
}

// obstacle is a Blocker without its pod and its time.
type obstacle struct {
	reason  Reason
	by      string
	message string
}

// obstacle returns an obstacle whose message ends with the general remedy.
func (r Reason) obstacle(by, format string, args ...any) *obstacle {
	return &obstacle{r, by, fmt.Sprintf(format, args...) + "; " + r.Help()}
}
