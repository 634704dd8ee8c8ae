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
// cordon before its hold.
func (c *checker) judgeHolds(r auditlog.Request, node, does string) {
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
