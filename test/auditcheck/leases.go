// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

const (
	leasesOfNodes = "kube-node-maintenance"
	ourHolder     = "slipway"
	// leaseSkew is how long after its end a lease is its holder's for others.
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

// othersAt says whether somebody else than Slipway holds the lease.
func (l *lease) othersAt(now time.Time) bool {
	if l == nil || l.Spec.HolderIdentity == "" || l.Spec.HolderIdentity == ourHolder {
		return false
	}
	end := l.Spec.RenewTime.Add(time.Duration(l.Spec.LeaseDurationSeconds)*time.Second + leaseSkew)
	return strings.HasPrefix(l.Spec.HolderIdentity, "kubeadm") || l.Spec.LeaseDurationSeconds > 0 && !now.After(end)
}

// leaseWritten takes in the lease of a node, and judges whether it was ours to take.
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
	c.leases[o.Metadata.Name] = o
}

// judgeLease: nobody of us takes a node out on which somebody else works.
func (c *checker) judgeLease(r auditlog.Request, node string) {
	if l := c.leases[node]; l.othersAt(r.Began) {
		c.violated(r, "cordons a node that %q has leased", l.Spec.HolderIdentity)
	}
}
