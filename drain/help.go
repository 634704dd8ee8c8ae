// SPDX-License-Identifier: Apache-2.0

package drain

// Help is what would help, in general: a part of a sentence. Messages of blockers end with it, or with what helps in just
// this case. It is empty for a Reason that is not of this package.
func (r Reason) Help() string { return helps[r] }

// advise says what would help after what is the matter.
func (r Reason) advise(matter string) string { return matter + "; " + r.Help() }

var helps = map[Reason]string{
	NodeNotCordoned:       "cordon the node again, or cancel the drain if it is to stay in service",
	NodeTaintMissing:      "if it stays, look at kube-controller-manager, which adds the taint",
	NodeGone:              "if it stays, look at the pod garbage collector of kube-controller-manager",
	APIServerUnavailable:  "if it stays, look at the API server, and at the network between it and the node",
	APIServerOverloaded:   "if it stays, look at the load of the API server and at its priority levels",
	RuleInvalid:           "correct the rule, or delete it",
	ReadRefused:           "give the identity that drains its rights back",
	BudgetExhausted:       "let its pods become Ready elsewhere, add replicas, or relax the budget",
	BudgetImpossible:      "add a replica, or relax the budget",
	BudgetNotObserved:     "if it stays, look at kube-controller-manager",
	BudgetSyncFailed:      "correct the budget, or give its pods a controller that has a scale",
	MultipleBudgets:       "change their selectors so that one remains, or delete the others",
	EvictionRefused:       "look at what refuses it, as the message says; it is tried again with growing pauses",
	EvictionTimedOut:      "look at the admission webhooks for pods/eviction; it is tried again with growing pauses",
	EvictionWithoutEffect: "look for a webhook or policy that makes evictions of the pod dry runs; it is tried again",
	NamespaceTerminating:  "if it stays, look at the conditions of the namespace",
	Terminating:           "have the owner of the finalizer remove it, or look at the pod's containers and volumes on the node",
	NodeNotReady:          "bring the node back; once the machine is certainly off, say so with the taint node.kubernetes.io/out-of-service",
	WaitingForCompletion:  "end its work, or give the rule a deadline",
	PodTimedOut:           "wait until its grace period is over",
	UnmanagedPod:          "delete the pod yourself, or allow it in the parameters (unmanagedPods: Evict)",
	LocalStorage:          "delete the pod yourself, or allow it in the parameters (localStorage: Evict)",
	DeletionRefused:       "look at what refuses it, as the message says, and at the rights of the identity that drains",
	AwaitingResponder:     "if it takes too long, look at that responder; one that is silent for 20 min loses its turn",
	ResponderMissing:      "see that a controller works on EvictionRequests (Slipway's: --eviction-requests), or change the mode in the parameters",
	RespondersFailed:      "look at the pod's responders, or change the mode in the parameters",
	EvictionAPIMissing:    "enable or install that API and let Slipway read it, or change the mode in the parameters",
	StaticPodStays:        "see that slipway-host takes static pods away there (--static-pods), or move its manifest out of the kubelet's folder yourself",
	StaticPodLeft:         "if it is to leave, allow that on the machine (slipway-host: --control-plane-static-pods)",
	VolumeAttached:        "look at the volume's CSI driver, and at its VolumeAttachment",
	PodRecurring:          "take the toleration away, or let a rule skip them",
	PodSkipped:            "if it is to leave, change the rule",
}
