// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"encoding/json"
	"slices"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

// podWritten takes in a pod, and judges deletions by us.
func (c *checker) podWritten(r auditlog.Request) {
	if r.Verb == "delete" || r.Verb == "deletecollection" {
		if c.options.Ours(r.User) {
			c.violated(r, "a pod was deleted, which no budget can refuse")
		}
		if o := object[pod](r); o != nil && len(o.Metadata.Finalizers) == 0 && o.Metadata.DeletionTimestamp == "" {
			delete(c.pods, key(r.Namespace, r.Name))
		}
		return
	}
	o := object[pod](r)
	if o == nil {
		return
	}
	k := key(o.Metadata.Namespace, o.Metadata.Name)
	if known := c.pods[k]; known != nil && known.Metadata.UID == o.Metadata.UID && o.Spec.NodeName == "" {
		o.Spec.NodeName = known.Spec.NodeName
	}
	c.pods[k] = o
}

// bound takes in where the scheduler has put a pod.
func (c *checker) bound(r auditlog.Request) {
	var binding struct {
		Target struct {
			Name string `json:"name"`
		} `json:"target"`
	}
	if known := c.pods[key(r.Namespace, r.Name)]; known != nil && json.Unmarshal(r.Body, &binding) == nil {
		known.Spec.NodeName = binding.Target.Name
	}
}

// evicted judges an eviction of ours that was accepted, and takes in any.
func (c *checker) evicted(r auditlog.Request) {
	known := c.pods[key(r.Namespace, r.Name)]
	if known == nil {
		if c.options.Ours(r.User) && c.options.Nodes == nil {
			c.violated(r, "the log does not know the pod")
		}
		return
	}
	if c.options.Ours(r.User) && c.watched(known.Spec.NodeName) {
		c.judgeScope(r, known)
		c.judgeBudget(r, known)
	} else {
		c.useBudget(r, known)
	}
	known.Metadata.DeletionTimestamp = r.Ended.String()
}

// judgeScope: by UID, on a node that a drain has claimed, and a pod that a drain
// evicts.
func (c *checker) judgeScope(r auditlog.Request, p *pod) {
	var eviction struct {
		DeleteOptions struct {
			Preconditions struct {
				UID string `json:"uid"`
			} `json:"preconditions"`
		} `json:"deleteOptions"`
	}
	if err := json.Unmarshal(r.Body, &eviction); err != nil {
		c.violated(r, "its body cannot be read: %v", err)
		return
	}
	switch uid := eviction.DeleteOptions.Preconditions.UID; uid {
	case p.Metadata.UID:
	case "":
		c.violated(r, "evicted without the pod's UID")
	default:
		c.violated(r, "evicted by UID %s; the pod's is %s", uid, p.Metadata.UID)
	}
	if _, mirror := p.Metadata.Annotations["kubernetes.io/config.mirror"]; mirror {
		c.violated(r, "evicted a mirror pod")
	}
	for _, owner := range p.Metadata.OwnerReferences {
		if owner.Controller && owner.Kind == "DaemonSet" {
			c.violated(r, "evicted a pod of a DaemonSet")
		}
	}
	if !c.claimedNow(p.Spec.NodeName) {
		c.violated(r, "evicted from node %q, on which no drain was going on", p.Spec.NodeName)
	}
}

// claimedNow says whether a drain is going on on the node.
func (c *checker) claimedNow(node string) bool {
	for _, e := range c.events {
		if e.Spec.BindingNode == node && (e.Status.ClaimStatus == "Claimed" ||
			slices.Contains(e.Metadata.Finalizers, claimFinalizer)) {
			return true
		}
	}
	return false
}
