// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-k8s/slipway/drain"
)

// Prediction is what a drain would do, as programs read it.
type Prediction struct {
	Nodes []Node `json:"nodes"`
	// Replacements is missing if the cluster's nodes or pods could not be read.
	Replacements *Replacements `json:"replacements,omitempty"`
	// Caveats say what could not be read, and what that makes unsure.
	Caveats []string `json:"caveats,omitempty"`
	// NotLookedAt are constraints that may change what happens.
	NotLookedAt []string `json:"notLookedAt"`
}

// Node is what would happen on one of the nodes.
type Node struct {
	Name string `json:"name"`
	// Steps counts the steps in which pods leave.
	Steps int `json:"steps"`
	// Pods are all of the node: those that must leave first, in their order.
	Pods []Pod `json:"pods"`
}

// Pod is what would become of a pod.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Owner is the workload that it belongs to, such as Deployment shop/cart. Empty: none.
	Owner string `json:"owner,omitempty"`
	// Verdict is one of drain's.
	Verdict drain.Verdict `json:"verdict"`
	// Step, Round, Exemption, Reason, By and Message are as in [drain.PodOutlook].
	Step      int             `json:"step,omitempty"`
	Round     int             `json:"round,omitempty"`
	After     string          `json:"after,omitempty"`
	Exemption drain.Exemption `json:"exemption,omitempty"`
	Reason    drain.Reason    `json:"reason,omitempty"`
	By        string          `json:"by,omitempty"`
	Message   string          `json:"message,omitempty"`
	// LostVolumes are emptyDir volumes whose content would be lost.
	LostVolumes []string `json:"lostVolumes,omitempty"`
	// Unmanaged: it would leave, and no controller would start it again.
	Unmanaged bool `json:"unmanaged,omitempty"`
	// Replacement says where the pod that takes its place could run. Nil: there is none, or
	// nothing is known.
	Replacement *Replacement `json:"replacement,omitempty"`
}

// Replacement is a pod that takes the place of one that leaves.
type Replacement struct {
	// Node is one that has room for it. Empty: there is none.
	Node string `json:"node,omitempty"`
	// Obstacles say, where it fits nowhere, how many nodes cannot take it, and why.
	Obstacles []Obstacle `json:"obstacles,omitempty"`
}

// Obstacle is what keeps some nodes from taking a pod.
type Obstacle struct {
	Why   string `json:"why"`
	Nodes int    `json:"nodes"`
}

// Replacements counts where the replacements of all nodes could run.
type Replacements struct {
	Total int `json:"total"`
	// Fit are the nodes that could take some.
	Fit []Share `json:"fit,omitempty"`
	// Nowhere counts those that fit nowhere.
	Nowhere int `json:"nowhere"`
}

// Share is how many replacements a node could take.
type Share struct {
	Node string `json:"node"`
	Pods int    `json:"pods"`
}

// Leaves tells whether the drain would evict or delete the pod.
func (p Pod) Leaves() bool {
	switch p.Verdict {
	case drain.EvictNow, drain.EvictLater, drain.DeleteLater, drain.Stuck, drain.Recur:
		return true
	default:
		return false
	}
}

// Blocks tells whether the pod would keep the drain from ending.
func (p Pod) Blocks() bool { return p.Verdict == drain.Blocked || p.Verdict == drain.Stuck }

// Ignored are influences that every prediction ignores.
var Ignored = []string{
	"guards, gates, and other events of the nodes",
	"webhooks, quotas, and namespaces that are being deleted",
	"how long pods take to end and to become ready, and volumes to be detached",
	"what the scheduler prefers, its profiles and plugins, preemption",
	"how many volumes a node may have",
	"responders of Evictions: pods that a drain would leave to responders are shown as if it evicted them",
	"what a cluster autoscaler and other controllers do meanwhile",
}

// notLookedAt returns the influences that a prediction ignores: in general, and for the pods that
// leave.
func notLookedAt(outlooks []drain.Outlook) []string {
	found := map[string]bool{}
	for _, o := range outlooks {
		for _, p := range o.Pods {
			if !leaves(p) {
				continue
			}
			if len(p.Pod.Spec.ResourceClaims) > 0 {
				found["devices (dynamic resource allocation), which some of the pods that leave have"] = true
			}
			if slices.ContainsFunc(p.Pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Ephemeral != nil }) {
				found["generic ephemeral volumes, which some of the pods that leave have: they are deleted with their pods, and replacements get new ones"] = true
			}
			if name := p.Pod.Spec.SchedulerName; name != "" && name != corev1.DefaultSchedulerName {
				found["the decisions of scheduler "+name+", which some of the pods that leave have"] = true
			}
		}
	}
	return append(slices.Clone(Ignored), slices.Sorted(maps.Keys(found))...)
}
