// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

// judgeLimits checks the rollout: not too many nodes out of service, and no second node of the control
// plane. It accepts each limit since the node was begun: a lower limit takes no node back.
func (c *checker) judgeLimits(r auditlog.Request, n *node, m *maintenance, begun time.Time) {
	asked := m.since(begun.Add(-hearsay))
	if slices.ContainsFunc(asked, func(s maintenanceSpec) bool { return s.Rollout == nil }) {
		return
	}
	outNow := c.outFor(m)
	within := func(ok func(*rollout, int) bool) bool {
		return slices.ContainsFunc(asked, func(s maintenanceSpec) bool { return ok(s.Rollout, c.selected(&s.NodeSelector)) })
	}
	if !within(func(o *rollout, selected int) bool { return len(outNow) <= o.most(selected) }) {
		c.violated(r, "%d nodes of maintenance %s are out, more than it allows: %s", len(outNow), m.name(), names(outNow))
	}
	if !within(func(o *rollout, _ int) bool { return c.keepsDomains(o, m, n, outNow) }) {
		c.violated(r, "nodes of maintenance %s are out of service in domains that it does not allow: %s", m.name(), names(outNow))
	}
	c.judgeControlPlane(r, n)
}

// keepsDomains checks the domains: with perDomain, at most that number of nodes of a domain; without perDomain, only
// nodes of one domain, except for failed nodes.
func (c *checker) keepsDomains(o *rollout, m *maintenance, n *node, outNow []*node) bool {
	if o.TopologyKey == "" {
		return true
	}
	here, elsewhere := 0, 0
	for _, other := range outNow {
		switch {
		case other.Metadata.Labels[o.TopologyKey] == n.Metadata.Labels[o.TopologyKey]:
			here++
		case !other.failed(m.Metadata.UID):
			elsewhere++
		}
	}
	if o.PerDomain > 0 {
		return here <= o.PerDomain
	}
	return elsewhere == 0
}

// judgeControlPlane: its nodes go one at a time, whichever maintenances they are for.
func (c *checker) judgeControlPlane(r auditlog.Request, n *node) {
	if !n.ofControlPlane() {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.out)) {
		if other := c.nodes[name]; name != n.name() && other != nil && other.ofControlPlane() {
			c.violated(r, "a node of the control plane is out while %s is", name)
		}
	}
}

func (n *node) ofControlPlane() bool {
	_, of := n.Metadata.Labels[controlPlaneLabel]
	return of
}

// failed reports whether the node records the failure of the maintenance.
func (n *node) failed(uid string) bool {
	all, _ := n.mentions()
	return slices.ContainsFunc(all, func(m mention) bool { return m.UID == uid && m.State == "Failed" })
}

// outFor returns the nodes in this maintenance, by name.
func (c *checker) outFor(m *maintenance) []*node {
	var all []*node
	for _, name := range slices.Sorted(maps.Keys(c.out)) {
		if _, is := c.out[name][m.Metadata.UID]; is && c.nodes[name] != nil {
			all = append(all, c.nodes[name])
		}
	}
	return all
}

func names(nodes []*node) string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.name())
	}
	return strings.Join(all, ", ")
}
