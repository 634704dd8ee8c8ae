// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

const (
	leasesOfNodes = "kube-node-maintenance"
	ourHolder     = "slipway"
	// leaseSkew is the time for which other tools respect a lease after its end.
	leaseSkew = 3 * time.Second
)

type lease struct {
	thing
	Spec struct {
		HolderIdentity       string    `json:"holderIdentity"`
		LeaseDurationSeconds int       `json:"leaseDurationSeconds"`
		RenewTime            time.Time `json:"renewTime"`
	} `json:"spec"`
}

// othersAt reports whether another tool than Slipway holds the lease.
func (l *lease) othersAt(now time.Time) bool {
	if l == nil || l.Spec.HolderIdentity == "" || l.Spec.HolderIdentity == ourHolder {
		return false
	}
	return strings.HasPrefix(l.Spec.HolderIdentity, "kubeadm") || l.Spec.LeaseDurationSeconds > 0 && !now.After(l.ends().Add(leaseSkew))
}

// oursAt reports whether Slipway holds the lease, and may count on it.
func (l *lease) oursAt(now time.Time) bool {
	return l != nil && l.Spec.HolderIdentity == ourHolder && !now.After(l.ends())
}

// ends returns the time until which its holder may count on the lease.
func (l *lease) ends() time.Time {
	return l.Spec.RenewTime.Add(time.Duration(l.Spec.LeaseDurationSeconds) * time.Second)
}

// leaseWritten records the lease of a node, and checks that Slipway took no lease of another holder.
func (c *checker) leaseWritten(r auditlog.Request) {
	if r.Verb == "deletecollection" {
		clear(c.leases)
		return
	}
	if deletes(r) {
		delete(c.leases, r.Name)
		return
	}
	o := object[lease](r)
	if o == nil || !c.watched(o.Metadata.Name) {
		return
	}
	before := c.leases[o.Metadata.Name]
	if before != nil && o.olderThan(&before.thing) {
		return
	}
	if before.othersAt(r.Began) && c.options.Ours(r) {
		c.violated(r, "writes the lease of %q", before.Spec.HolderIdentity)
	}
	c.judgeTaken(r, before, o)
	c.leases[o.Metadata.Name] = o
}

// givesBack reports whether the request releases a node's lease.
func givesBack(r auditlog.Request) bool {
	if r.Resource != "leases" {
		return false
	}
	o := object[lease](r)
	return deletes(r) || o != nil && o.Spec.HolderIdentity == ""
}

// judgeTaken checks that a tool takes no lease that another tool or Slipway holds, and no lease of a node that
// Slipway has cordoned.
func (c *checker) judgeTaken(r auditlog.Request, before, o *lease) {
	tool, is := c.tool(r)
	if !is || o.Spec.HolderIdentity == "" {
		return
	}
	if before.oursAt(r.Began) || before.othersAt(r.Began) && before.Spec.HolderIdentity != tool {
		c.violated(r, "takes the lease of %q", before.Spec.HolderIdentity)
	}
	if n := c.nodes[o.Metadata.Name]; n != nil && n.cordoned {
		c.violated(r, "takes the lease of a node that Slipway has out")
	}
}

// judgeLease checks that Slipway does not work on a node with a lease of another holder; and, where Slipway takes
// leases, only with its own lease. The user that holds the lease may drain, and a machine that stops is drained.
func (c *checker) judgeLease(r auditlog.Request, node, does string) {
	switch l := c.leases[node]; {
	case l.othersAt(r.Began) && c.worksFor(l.Metadata.Annotations["slipway.dev/written-by"], node):
	case l.othersAt(r.Began):
		c.violated(r, "%s a node that %q has leased", does, l.Spec.HolderIdentity)
	case c.options.Leases && !l.oursAt(r.Began):
		c.violated(r, "%s a node of which Slipway has no lease", does)
	}
}

// worksFor reports whether the claimed event of the node is of that user, or of the shutdown of its machine.
func (c *checker) worksFor(user, node string) bool {
	for _, e := range c.events {
		_, ofShutdown := e.Metadata.Annotations["slipway.dev/shutdown"]
		if e.Spec.BindingNode == node && e.Status.ClaimStatus == "Claimed" && (ofShutdown || user != "" && e.Spec.RequestedBy == user) {
			return true
		}
	}
	return false
}

// judgeTool: a tool writes to a Node only while it has its lease.
func (c *checker) judgeTool(r auditlog.Request, node string) {
	tool, is := c.tool(r)
	if !is {
		return
	}
	if l := c.leases[node]; !l.othersAt(r.Began) || l.Spec.HolderIdentity != tool {
		c.violated(r, "works on a node of which %q has no lease", tool)
	}
}

// tool returns the tool that made the request.
func (c *checker) tool(r auditlog.Request) (name string, is bool) {
	name = cmp.Or(r.Impersonated, r.User)
	return name, slices.Contains(c.options.Tools, name)
}
