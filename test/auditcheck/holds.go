// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"maps"
	"slices"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

// hold is a NodeHold.
type hold struct {
	thing
	Spec struct {
		NodeName    string `json:"nodeName"`
		EventUID    string `json:"eventUID"`
		User        string `json:"user"`
		Maintenance string `json:"maintenance"`
	} `json:"spec"`
}

func (c *checker) holdWritten(r auditlog.Request) {
	if deletes(r) {
		delete(c.holds, r.Name)
	} else if o := object[hold](r); o != nil {
		c.holds[o.name()] = o
	}
}

// judgeHolds checks that Slipway neither works on a node that a user holds, nor returns it. A canceled event releases its
// cordon before its hold, and an event that breaks the glass returns a node past all holds.
func (c *checker) judgeHolds(r auditlog.Request, node, does string) {
	if c.glassBroken(node) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.holds)) {
		h := c.holds[name]
		if h.Spec.NodeName == node && h.Spec.Maintenance == "" && !c.canceled(h.Spec.EventUID) {
			c.violated(r, "%s node %s, which user %q holds", does, node, h.Spec.User)
		}
	}
}

func (c *checker) canceled(uid string) bool {
	for _, e := range c.events {
		if e.Metadata.UID == uid {
			return e.Metadata.DeletionTimestamp != "" || e.Status.ClaimStatus == "Failed"
		}
	}
	return false
}

// glassBroken returns whether an event of the node that breaks the glass is Claimed.
func (c *checker) glassBroken(node string) bool {
	for _, e := range c.events {
		_, breaks := e.Metadata.Annotations["slipway.dev/break-glass"]
		if breaks && e.Spec.BindingNode == node && e.Status.ClaimStatus == "Claimed" {
			return true
		}
	}
	return false
}
