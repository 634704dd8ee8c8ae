// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-k8s/slipway/drain"
)

// Prediction is the prediction for some nodes.
type Prediction struct {
	Nodes []Node `json:"nodes"`
	// Replacements is missing if the cluster's nodes or pods could not be read.
	Replacements *Replacements `json:"replacements,omitempty"`
	// Caveats name failed reads, with the effect on the prediction.
	Caveats []string `json:"caveats,omitempty"`
	// NotLookedAt are ignored influences.
	NotLookedAt []string `json:"notLookedAt"`
}

// Node is the prediction for one node.
type Node struct {
	Name string `json:"name"`
	// Steps counts the steps in which pods leave.
	Steps int `json:"steps"`
	// Pods are all of the node: those that must leave first, in their order.
	Pods []Pod `json:"pods"`
}

// Pod is the prediction for one pod.
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
	// Replacement is the pod that takes its place. It is nil if there is none, or if the cluster
	// could not be read.
	Replacement *Replacement `json:"replacement,omitempty"`
}

// Replacement is a pod that replaces one of the pods that leave.
type Replacement struct {
	// Node has room for it. It is empty if no node has.
	Node string `json:"node,omitempty"`
	// Obstacles count the nodes that cannot take it, by reason.
	Obstacles []Obstacle `json:"obstacles,omitempty"`
}

// Obstacle is the reason that some nodes cannot take a pod.
type Obstacle struct {
	Why   string `json:"why"`
	Nodes int    `json:"nodes"`
}

// Replacements counts where the replacements of all nodes could run.
type Replacements struct {
	Total int `json:"total"`
	// Fit are the nodes that could take some.
	Fit []Share `json:"fit,omitempty"`
	// Nowhere counts the replacements that fit on no node.
	Nowhere int `json:"nowhere"`
}

// Share is the number of replacements that a node could take.
type Share struct {
	Node string `json:"node"`
	Pods int    `json:"pods"`
}

// Leaves reports whether the drain would evict or delete the pod.
func (p Pod) Leaves() bool {
	switch p.Verdict {
	case drain.EvictNow, drain.EvictLater, drain.DeleteLater, drain.Stuck, drain.Recur:
		return true
	default:
		return false
	}
}

// Blocks reports whether the pod would block the drain.
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
