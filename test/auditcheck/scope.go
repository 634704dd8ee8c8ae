// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

// judgeScope checks that the eviction is by UID, as the pod's node, during a drain of that node, and of a pod that
// the drain should evict; or without impersonation, during an Eviction of that pod.
func (c *checker) judgeScope(r auditlog.Request, p *pod) {
	options, err := optionsOf(r)
	if err != nil {
		c.violated(r, "its body cannot be read: %v", err)
		return
	}
	switch uid := options.Preconditions.UID; uid {
	case p.Metadata.UID:
	case "":
		c.violated(r, "evicted without the pod's UID")
	default:
		c.violated(r, "evicted by UID %s; the pod's is %s", uid, p.Metadata.UID)
	}
	if as := nodeOf(r); as != "" && as != p.Spec.NodeName {
		c.violated(r, "evicted from node %q as node %q", p.Spec.NodeName, as)
	}
	if nodeOf(r) == "" && c.isAskedFor(p, r) {
		return
	}
	drains := c.drainsOf(p.Spec.NodeName, r)
	if len(drains) == 0 {
		c.violated(r, "evicted from node %q, on which no drain was in progress", p.Spec.NodeName)
		return
	}
	c.judgeTargets(r, p, drains)
	c.judgeRules(r, p, drains)
}

// isAskedFor reports whether an Eviction of the pod is in progress, or has just ended: a
// cancellation does not wait for the evictor.
func (c *checker) isAskedFor(p *pod, r auditlog.Request) bool {
	if until := c.ranUntil[p.Metadata.UID]; until.After(r.Began.Add(-hearsay)) {
		return true
	}
	for k, e := range c.evictions {
		if strings.HasPrefix(k, "evictions ") && !e.ended() && e.Metadata.Namespace == p.Metadata.Namespace && e.Spec.Target.Pod.UID == p.Metadata.UID {
			return true
		}
	}
	return false
}

// judgeTargets checks the type, the priority and the labels of the pod.
func (c *checker) judgeTargets(r auditlog.Request, p *pod, drains []ongoing) {
	if permits(drains, func(_ time.Time, asked Parameters) bool { return asked.covers(p) }) {
		return
	}
	switch {
	case p.mirror():
		c.violated(r, "evicted a mirror pod")
	case p.ofDaemonSet():
		c.violated(r, "evicted a pod of a DaemonSet")
	default:
		c.violated(r, "evicted a pod that no target covers")
	}
}

// permits reports whether the parameters of one of the drains permit something.
func permits(drains []ongoing, may func(began time.Time, asked Parameters) bool) bool {
	return slices.ContainsFunc(drains, func(d ongoing) bool {
		return slices.ContainsFunc(d.parameters, func(asked Parameters) bool { return may(d.began, asked) })
	})
}
