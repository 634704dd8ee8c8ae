// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Status is how far a Drain is, at one moment.
type Status struct {
	// Total counts the pods in scope that were seen since this Drain began: those that are gone and those that remain.
	Total int
	// Done counts those of them that are gone. A pod that is terminating is not gone.
	Done int
	// Moving counts those that remain and are on their way: their first eviction is being sent, a responder is at work on
	// them (AwaitingResponder), or they are terminating and have time left for it. Where it is zero and there are Blockers, the drain is held up.
	Moving int
	// Blockers say what holds the drain up, sorted by pod and reason; those of the node itself come first. A pod that
	// only waits for its turn is not listed.
	Blockers []Blocker
	// Reached tells that nothing is left to do: Drain returns, unless Request.Hold keeps it from that.
	Reached bool
	// Left are the pods and volumes that stay although they are in scope, sorted by pod and reason: the drain does not
	// wait for them (any more). Their reasons are PodRecurring, PodSkipped, StaticPodLeft and VolumeAttached.
	Left []Blocker
	// Named are the pods that are still there and are left to responders (Request.Mode), sorted by namespace and name:
	// somebody is to ask for their evictions. Nil while the drain has not yet read all that it takes to know; then what an
	// earlier run has named still counts.
	Named []PodReference
	// Static are the static pods whose turn has come, and that Config.StaticPods says somebody takes away, sorted by namespace
	// and name: that one is to be told. Those that are gone are not among them any more, and are to stay away.
	Static []PodReference
	// Overridden are the pods that were deleted although their eviction was not accepted (Request.Escalation).
	Overridden []types.NamespacedName
	// Message sums it up for people, in one line.
	Message string
}

// Blocker is one thing that holds the drain up.
type Blocker struct {
	// Pod is the pod that cannot leave. It is empty where the whole drain is held up.
	Pod types.NamespacedName
	// Reason is for programs.
	Reason Reason
	// By names the object in the way, as the Reason's comment says. It may be empty.
	By string
	// Message says what is the matter and what would help: [Reason.Help], or more precisely where that can be said. It is
	// for people and must not be parsed.
	Message string
	// Since is when this Drain first saw it. It stays the same while Pod, Reason and By do.
	Since time.Time
}

// Reason is the kind of a Blocker.
type Reason string

// What holds up the whole drain.
const (
	// NodeNotCordoned: the node is schedulable, so nothing is evicted. By is the node.
	NodeNotCordoned Reason = "NodeNotCordoned"
	// NodeTaintMissing: no pod is left, but the node does not carry the taint node.kubernetes.io/unschedulable:NoSchedule
	// yet, so new pods may still come. By is the node.
	NodeTaintMissing Reason = "NodeTaintMissing"
	// NodeGone: the Node object does not exist, but pods of it do. By is the node.
	NodeGone Reason = "NodeGone"
	// APIServerUnavailable: the API server cannot be reached, or says that it cannot serve. By is empty, or what was
	// being read.
	APIServerUnavailable Reason = "APIServerUnavailable"
	// APIServerOverloaded: the API server asked to send less.
	APIServerOverloaded Reason = "APIServerOverloaded"
	// RuleInvalid: a rule cannot be understood, so the pods of its namespace stay. By is what was being read.
	RuleInvalid Reason = "RuleInvalid"
	// ReadRefused: the API server refuses to let us read what the drain needs. By is what was being read.
	ReadRefused Reason = "ReadRefused"
)

// What holds up one pod.
const (
	// BudgetExhausted: the pod's disruption budget allows no disruption now. By is the budget.
	BudgetExhausted Reason = "BudgetExhausted"
	// BudgetImpossible: the budget allows no disruption however healthy its pods are: waiting does not help. By is the
	// budget.
	BudgetImpossible Reason = "BudgetImpossible"
	// BudgetNotObserved: the budget's controller has not caught up with the budget or with earlier evictions. By is the
	// budget.
	BudgetNotObserved Reason = "BudgetNotObserved"
	// BudgetSyncFailed: the budget's controller says that it cannot compute the budget. By is the budget.
	BudgetSyncFailed Reason = "BudgetSyncFailed"
	// MultipleBudgets: several budgets select the pod; the server evicts no such pod. By are the budgets.
	MultipleBudgets Reason = "MultipleBudgets"
	// EvictionRefused: the server refused the eviction for another reason than a budget: an admission webhook, missing
	// rights, an internal error.
	EvictionRefused Reason = "EvictionRefused"
	// EvictionTimedOut: the server did not finish the eviction in time: a slow admission webhook, or many writers of one
	// budget.
	EvictionTimedOut Reason = "EvictionTimedOut"
	// EvictionWithoutEffect: for half a minute or more the server has said, whenever it was asked, that the pod goes, or is
	// gone, and it is seen, and does not end: a webhook or policy makes the eviction a dry run, or the watch is late.
	EvictionWithoutEffect Reason = "EvictionWithoutEffect"
	// NamespaceTerminating: the pod's namespace is being deleted and takes no evictions. By is the namespace.
	NamespaceTerminating Reason = "NamespaceTerminating"
	// Terminating: the pod has not ended although its grace period is over. By are its finalizers, if it has any.
	Terminating Reason = "Terminating"
	// NodeNotReady: the pod has not ended although its grace period is over, and the node's kubelet does not report. By
	// is the node.
	NodeNotReady Reason = "NodeNotReady"
	// WaitingForCompletion: a rule wants the drain to wait until the pod has ended by itself. By is the rule.
	WaitingForCompletion Reason = "WaitingForCompletion"
	// PodTimedOut: the pod is ending, within its grace period, but has had its time, so the pods of later steps leave too.
	// By is empty.
	PodTimedOut Reason = "PodTimedOut"
	// UnmanagedPod: the pod has no controller, and the request refuses such pods. By is empty.
	UnmanagedPod Reason = "UnmanagedPod"
	// LocalStorage: the pod has an emptyDir volume, and the request refuses such pods. By is the volume.
	LocalStorage Reason = "LocalStorage"
	// DeletionRefused: the server refused a deletion that the request's Escalation asks for. By is empty.
	DeletionRefused Reason = "DeletionRefused"
)

// What holds up a pod that is left to responders.
const (
	// AwaitingResponder: somebody responds to the pod's Eviction, and is at work. By is the Eviction.
	AwaitingResponder Reason = "AwaitingResponder"
	// ResponderMissing: the request wants the pod left to responders, and nobody responds. By is its Eviction, if it has one.
	ResponderMissing Reason = "ResponderMissing"
	// RespondersFailed: the request wants the pod left to responders, and its Eviction has failed. By is the Eviction.
	RespondersFailed Reason = "RespondersFailed"
	// EvictionAPIMissing: the request wants the pod left to responders, and the server has no Evictions that may be read.
	EvictionAPIMissing Reason = "EvictionAPIMissing"
)

// What holds up a static pod (PodTypeStatic), or leaves it.
const (
	// StaticPodStays: nobody takes the pod's manifest away, or its kubelet does not say that it has ended. By is empty.
	StaticPodStays Reason = "StaticPodStays"
	// StaticPodLeft: the pod is not to be taken away, as Config.StaticPods says, and the drain does not wait for it. By is
	// empty.
	StaticPodLeft Reason = "StaticPodLeft"
)

// What holds up the end of a drain, or is left behind by it.
const (
	// VolumeAttached: a volume that no remaining pod uses is still attached to the node. By is the volume, as
	// Node.status.volumesAttached names it.
	VolumeAttached Reason = "VolumeAttached"
	// PodRecurring: pods of this controller came back to the node again and again, so they are not evicted any more. By
	// is the controller.
	PodRecurring Reason = "PodRecurring"
	// PodSkipped: a rule says that the pod stays. By is the rule.
	PodSkipped Reason = "PodSkipped"
)

func (s Status) equal(o Status) bool {
	return s.Total == o.Total && s.Done == o.Done && s.Moving == o.Moving && s.Message == o.Message && s.Reached == o.Reached &&
		(s.Named == nil) == (o.Named == nil) && slices.Equal(s.Named, o.Named) && slices.Equal(s.Static, o.Static) &&
		slices.Equal(s.Blockers, o.Blockers) && slices.Equal(s.Left, o.Left) && slices.Equal(s.Overridden, o.Overridden)
}
