// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"fmt"
	"maps"
	"slices"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

const (
	claimFinalizer    = "lifecycle.k8s.io/claim-protection"
	cordonsAnnotation = "slipway.dev/cordons"
)

var terminal = []string{"Succeeded", "Failed", "SlaExpired"}

// eventWritten takes in an event, and judges its phases.
func (c *checker) eventWritten(r auditlog.Request) {
	known := c.events[r.Name]
	if r.Verb == "delete" {
		if known != nil && len(known.Metadata.Finalizers) == 0 {
			c.eventGone(r, known)
		}
		return
	}
	o := object[event](r)
	if o == nil || !c.watched(o.Spec.BindingNode) {
		return
	}
	if o.Status.ClaimStatus == "" {
		o.Status.ClaimStatus = "Pending"
	}
	if known != nil && known.Metadata.UID == o.Metadata.UID {
		c.judgePhases(r, known, o)
	}
	if o.Status.ClaimStatus == "Claimed" && (known == nil || known.Status.ClaimStatus != "Claimed") {
		c.judgeClaim(r, o)
	}
	c.events[o.Metadata.Name] = o
	if o.Metadata.DeletionTimestamp != "" && len(o.Metadata.Finalizers) == 0 {
		c.eventGone(r, o)
	}
}

// eventGone: whoever was claimed has ended before it goes.
func (c *checker) eventGone(r auditlog.Request, e *event) {
	if e.Status.ClaimStatus == "Claimed" && c.options.Ours(r.User) {
		c.violated(r, "gone without a terminal phase")
	}
	delete(c.events, e.Metadata.Name)
}

func (c *checker) judgePhases(r auditlog.Request, before, after *event) {
	from, to := before.Status.ClaimStatus, after.Status.ClaimStatus
	switch {
	case from == to:
	case from == "Pending" && (to == "Claimed" || to == "Failed"):
	case from == "Claimed" && slices.Contains(terminal, to):
	default:
		c.violated(r, "went from %s to %s", from, to)
	}
}

// judgeClaim: no other event of the node is claimed, or has ended and is not wound up.
func (c *checker) judgeClaim(r auditlog.Request, claimed *event) {
	for name, other := range c.events {
		if name == claimed.Metadata.Name || other.Spec.BindingNode != claimed.Spec.BindingNode {
			continue
		}
		if other.Status.ClaimStatus == "Claimed" ||
			slices.Contains(terminal, other.Status.ClaimStatus) && slices.Contains(other.Metadata.Finalizers, claimFinalizer) {
			c.violated(r, "claimed while %s was %s", name, other.Status.ClaimStatus)
		}
	}
}

// nodeWritten takes in a node.
func (c *checker) nodeWritten(r auditlog.Request) {
	if r.Verb == "delete" {
		delete(c.nodes, r.Name)
		return
	}
	if o := object[node](r); o != nil && c.watched(o.Metadata.Name) {
		c.nodes[o.Metadata.Name] = o
	}
}

// atTheEnd judges what is left.
func (c *checker) atTheEnd() {
	for _, name := range slices.Sorted(maps.Keys(c.events)) {
		e := c.events[name]
		if slices.Contains(c.options.Unfinished, name) {
			continue
		}
		if slices.Contains(e.Metadata.Finalizers, claimFinalizer) || e.Status.ClaimStatus == "Claimed" {
			c.violations = append(c.violations, fmt.Sprintf("at the end: event %s is %s and has finalizers %v",
				name, e.Status.ClaimStatus, e.Metadata.Finalizers))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.nodes)) {
		n := c.nodes[name]
		if cordons, ours := n.Metadata.Annotations[cordonsAnnotation]; ours && !slices.Contains(c.options.Cordoned, name) {
			c.violations = append(c.violations, fmt.Sprintf("at the end: node %s is cordoned by us: %s", name, cordons))
		}
	}
}
