// SPDX-License-Identifier: Apache-2.0

package reasons

// The codes of blockers are those of drain.Reason. A test compares them: so the catalogue
// can be used where nobody may know what a drain is.

var blockersOfNodes = ofBlockers(
	Entry{
		Code: "NodeNotCordoned", Means: "The node is schedulable: somebody uncordoned it during the drain. Nothing is evicted.",
		Helps: "cordon the node again, or cancel the drain if it is to stay in service",
	},
	Entry{
		Code: "NodeTaintMissing", Means: "The node is empty and cordoned, but the control plane has not tainted it yet, so new pods may still come.",
		Helps: "if it stays, look at kube-controller-manager, which adds the taint", Passes: true,
	},
	Entry{
		Code: "NodeGone", Means: "There is no such Node, but pods of it. Nothing is evicted.",
		Helps: "if it stays, look at the pod garbage collector of kube-controller-manager", Passes: true,
	},
	Entry{
		Code: "APIServerUnavailable", Means: "The API server cannot be reached, or says that it cannot serve. The drain goes on when it does.",
		Helps: "if it stays, look at the API server, and at the network between it and the node", Passes: true,
	},
	Entry{
		Code: "APIServerOverloaded", Means: "The API server asks to send less, so evictions pause.",
		Helps: "if it stays, look at the load of the API server and at its priority levels", Passes: true,
	},
	Entry{
		Code: "RuleInvalid", Means: "A DrainRule cannot be understood, so the pods of its namespace stay.",
		Helps: "correct the rule, or delete it",
	},
	Entry{
		Code: "ReadRefused", Means: "Slipway may not read what the drain needs.",
		Helps: "give the identity that drains its rights back",
	},
)

var blockersOfPods = ofBlockers(
	Entry{
		Code: "BudgetExhausted", Means: "The pod's disruption budget allows no disruption now. It will when more of its pods are healthy.",
		Helps: "let its pods become Ready elsewhere, add replicas, or relax the budget", Passes: true,
	},
	Entry{
		Code: "BudgetImpossible", Means: "The budget allows no disruption even when all of its pods are healthy: waiting does not help.",
		Helps: "add a replica, or relax the budget",
	},
	Entry{
		Code: "BudgetNotObserved", Means: "The budget's controller has not caught up with the budget, or with earlier evictions.",
		Helps: "if it stays, look at kube-controller-manager", Passes: true,
	},
	Entry{
		Code: "BudgetSyncFailed", Means: "The budget's controller says that it cannot compute the budget, so the server refuses each eviction.",
		Helps: "correct the budget, or give its pods a controller that has a scale",
	},
	Entry{
		Code: "MultipleBudgets", Means: "Several budgets select the pod, and the server evicts no such pod.",
		Helps: "change their selectors so that one remains, or delete the others",
	},
	Entry{
		Code: "EvictionRefused", Means: "The server refuses the eviction for another reason than a budget: an admission webhook or policy, missing rights, an internal error.",
		Helps: "look at what refuses it, as the message says; it is tried again with growing pauses",
	},
	Entry{
		Code: "EvictionTimedOut", Means: "The server did not finish the eviction in time: a slow admission webhook, or many writers of one budget.",
		Helps: "look at the admission webhooks for pods/eviction; it is tried again with growing pauses", Passes: true,
	},
	Entry{
		Code: "EvictionWithoutEffect", Means: "The server accepts the eviction whenever it is asked, or says that the pod is gone, and it is seen, and does not end: a mutating webhook or policy makes evictions of it dry runs, or what is seen is late.",
		Helps: "look for a webhook or policy that makes evictions of the pod dry runs; it is tried again",
	},
	Entry{
		Code: "NamespaceTerminating", Means: "The pod's namespace is being deleted and takes no evictions. The pod goes with it.",
		Helps: "if it stays, look at the conditions of the namespace", Passes: true,
	},
	Entry{
		Code: "Terminating", Means: "The pod's grace period is over and it has not gone: a finalizer keeps it, or the kubelet has not confirmed its end.",
		Helps: "have the owner of the finalizer remove it, or look at the pod's containers and volumes on the node",
	},
	Entry{
		Code: "NodeNotReady", Means: "The pod's grace period is over, and the node's kubelet does not report, so nobody confirms that the pod's containers have ended.",
		Helps: "bring the node back; once the machine is certainly off, say so with the taint node.kubernetes.io/out-of-service",
	},
	Entry{
		Code: "WaitingForCompletion", Means: "A DrainRule wants to wait until the pod has ended by itself.",
		Helps: "end its work, or give the rule a deadline", Passes: true,
	},
	Entry{
		Code: "PodTimedOut", Means: "The pod is ending, within its grace period, but has had the time that its rule gives it. Those of later steps leave meanwhile.",
		Helps: "wait until its grace period is over", Passes: true,
	},
	Entry{
		Code: "UnmanagedPod", Means: "The pod has no controller, so nobody would start it again, and the event says unmanagedPods: Refuse. Nothing is evicted.",
		Helps: "delete the pod yourself, or allow it in the parameters (unmanagedPods: Evict)",
	},
	Entry{
		Code: "LocalStorage", Means: "The pod has an emptyDir volume, whose content would be lost, and the event says localStorage: Refuse. Nothing is evicted.",
		Helps: "delete the pod yourself, or allow it in the parameters (localStorage: Evict)",
	},
	Entry{
		Code: "DeletionRefused", Means: "The server refuses the deletion that the event's escalation asks for: an admission webhook or policy, or missing rights.",
		Helps: "look at what refuses it, as the message says, and at the rights of the identity that drains",
	},
	Entry{
		Code: "AwaitingResponder", Means: "Somebody responds to the pod's Eviction and is at work. The drain waits, and does not evict the pod meanwhile.",
		Helps: "if it takes too long, look at that responder; one that is silent for 20 min loses its turn", Passes: true,
	},
	Entry{
		Code: "ResponderMissing", Means: "The event says mode: EvictionRequest, so the pod is left to responders, and nobody responds.",
		Helps: "see that a controller works on EvictionRequests (Slipway's: --eviction-requests), or change the mode in the parameters",
	},
	Entry{
		Code: "RespondersFailed", Means: "The event says mode: EvictionRequest, and the pod's Eviction has failed: all responders have had their turn, or it cannot be evicted so.",
		Helps: "look at the pod's responders, or change the mode in the parameters",
	},
	Entry{
		Code: "EvictionAPIMissing", Means: "The event says mode: EvictionRequest, and the server has no Evictions (lifecycle.k8s.io/v1alpha1), or Slipway may not read them.",
		Helps: "enable or install that API and let Slipway read it, or change the mode in the parameters",
	},
)

var blockersOfTheEnd = ofBlockers(
	Entry{
		Code: "VolumeAttached", Means: "A volume that no pod on the node uses any more is still attached. After volumeTimeout the drain ends without it.",
		Helps: "look at the volume's CSI driver, and at its VolumeAttachment", Passes: true,
	},
	Entry{
		Code: "PodRecurring", Means: "Pods of this controller came back to the node after each eviction: they tolerate its taint, or name it in spec.nodeName. They are left behind.",
		Helps: "take the toleration away, or let a rule skip them", Passes: true,
	},
	Entry{
		Code: "PodSkipped", Means: "A DrainRule says Skip, so the pod is left behind.",
		Helps: "if it is to leave, change the rule", Passes: true,
	},
	Entry{
		Code: "StaticPodStays", Means: "The event asks for static pods, and this one stays: nobody on the machine takes its manifest away, or its kubelet does not confirm that it has ended.",
		Helps: "see that slipway-host takes static pods away there (--static-pods), or move its manifest out of the kubelet's folder yourself",
	},
	Entry{
		Code: "StaticPodLeft", Means: "The event asks for static pods, and slipway-host leaves this one alone: it is of the control plane. It is left behind.",
		Helps: "if it is to leave, allow that on the machine (slipway-host: --control-plane-static-pods)", Passes: true,
	},
)
