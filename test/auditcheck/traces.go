// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

const (
	cordonsAnnotation  = "slipway.dev/cordons"
	keptAwayAnnotation = "slipway.dev/kept-away" // and a label
)

type node struct {
	thing
	Spec struct {
		Unschedulable bool    `json:"unschedulable"`
		Taints        []taint `json:"taints"`
	} `json:"spec"`
	Status struct {
		Conditions []condition `json:"conditions"`
	} `json:"status"`

	cordoned bool // it is unschedulable because we made it so
}

type taint struct {
	Key string `json:"key"`
}

// nodeWritten takes in a node.
func (c *checker) nodeWritten(r auditlog.Request) {
	if r.Verb == "delete" {
		delete(c.nodes, r.Name)
		c.judgeOut(r, r.Name)
		return
	}
	o := object[node](r)
	if o == nil || !c.watched(o.Metadata.Name) {
		return
	}
	known := c.nodes[o.Metadata.Name]
	if known != nil && o.olderThan(&known.thing) {
		return
	}
	ours := c.options.Ours(r)
	if ours {
		c.judgeTaints(r)
	}
	before := known != nil && known.Spec.Unschedulable
	c.judgeTool(r, o.Metadata.Name)
	switch {
	case ours && o.Spec.Unschedulable && !before:
		c.judgeLease(r, o.Metadata.Name, "cordons")
	case ours && !o.Spec.Unschedulable && before:
		c.judgeHolds(r, o.Metadata.Name, "returns")
		if c.options.Leases {
			c.judgeLease(r, o.Metadata.Name, "returns")
		}
	}
	o.cordoned = o.Spec.Unschedulable && (!before && ours || before && known.cordoned)
	c.nodes[o.Metadata.Name] = o
	c.judgeOut(r, o.Metadata.Name)
	if ours && o.cordoned && !before {
		c.judgeAvailability(r, o.Metadata.Name)
	}
}

// judgeAvailability checks that a cordon is within the NodeAvailabilityBudgets of its node.
func (c *checker) judgeAvailability(r auditlog.Request, node string) {
	for _, b := range c.options.Budgets {
		if !slices.Contains(b.Nodes, node) {
			continue
		}
		cordoned := slices.DeleteFunc(slices.Clone(b.Nodes), func(of string) bool { return c.nodes[of] == nil || !c.nodes[of].cordoned })
		if len(cordoned) > b.MaxUnavailable {
			c.violated(r, "cordons %d of the nodes %v, and %d may be out: %v", len(cordoned), b.Nodes, b.MaxUnavailable, cordoned)
		}
	}
}

// judgeTaints: that of a cordon is the control plane's to set, and we set no others.
func (c *checker) judgeTaints(r auditlog.Request) {
	var body struct {
		Spec struct {
			Taints json.RawMessage `json:"taints"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(r.Body, &body); err == nil && len(body.Spec.Taints) > 0 {
		c.violated(r, "writes taints: %s", body.Spec.Taints)
	}
}

// atTheEnd judges what is left.
func (c *checker) atTheEnd() {
	c.judgeDenied()
	for _, k := range slices.Sorted(maps.Keys(c.events)) {
		e := c.events[k]
		if slices.Contains(c.options.Unfinished, e.Metadata.Name) {
			continue
		}
		if e.protected() || e.Status.ClaimStatus == "Claimed" {
			c.left("event %s is %s and has finalizers %v", e.Metadata.Name, e.Status.ClaimStatus, e.Metadata.Finalizers)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.nodes)) {
		c.judgeNode(name, c.nodes[name])
	}
	c.judgeMaintenancesAtTheEnd()
}

// judgeNode: what was put on the node for a drain is off it again.
func (c *checker) judgeNode(name string, n *node) {
	for _, t := range n.Spec.Taints {
		if strings.Contains(t.Key, "slipway.dev/") || strings.Contains(t.Key, "lifecycle.k8s.io/") {
			c.left("node %s has taint %s", name, t.Key)
		}
	}
	_, label := n.Metadata.Labels[keptAwayAnnotation]
	if which, annotation := n.Metadata.Annotations[keptAwayAnnotation]; label || annotation {
		c.left("node %s keeps pods of DaemonSets away: %q", name, which)
	}
	cordons, said := n.Metadata.Annotations[cordonsAnnotation]
	switch expected := slices.Contains(c.options.Cordoned, name); {
	case expected && !said && !n.cordoned:
		c.left("node %s is not cordoned by us, although that is expected", name)
	case expected:
	case said:
		c.left("node %s is cordoned by us: %s", name, cordons)
	case n.cordoned:
		c.left("node %s is cordoned by us, without a record on it", name)
	}
}
