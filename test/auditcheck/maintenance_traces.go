// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"maps"
	"slices"
)

const maintenanceEventFinalizer = "slipway.dev/maintenance"

// judgeMaintenancesAtTheEnd checks that deleted maintenances leave no trace.
func (c *checker) judgeMaintenancesAtTheEnd() {
	for _, k := range slices.Sorted(maps.Keys(c.events)) {
		e := c.events[k]
		if slices.Contains(e.Metadata.Finalizers, maintenanceEventFinalizer) && !c.mentionsOne(&e.thing) {
			c.left("event %s has finalizer %s, and its maintenances are deleted", e.name(), maintenanceEventFinalizer)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(c.jobs)) {
		if o := c.jobs[uid]; !slices.ContainsFunc(o.owners(), func(uid string) bool { return c.maintenances[uid] != nil }) {
			c.left("job %s of node %s exists, and its maintenance is deleted", o.name(), o.node())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.nodes)) {
		c.judgeMentions(c.nodes[name])
	}
}

// mentionsOne reports whether one of the listed maintenances exists.
func (c *checker) mentionsOne(t *thing) bool {
	all, err := t.mentions()
	return err == nil && slices.ContainsFunc(all, func(m mention) bool { return c.maintenances[m.UID] != nil })
}

// judgeMentions checks that a node has no record of a deleted maintenance.
func (c *checker) judgeMentions(n *node) {
	all, err := n.mentions()
	if err != nil {
		c.left("annotation %s of node %s cannot be read: %v", maintenancesAnnotation, n.name(), err)
	}
	for _, m := range all {
		if c.maintenances[m.UID] == nil {
			c.left("node %s has a record of maintenance %s, which is deleted", n.name(), m.UID)
		}
	}
	for _, condition := range n.Status.Conditions {
		ours := condition.Type == "MaintenancePlanned" || condition.Type == "MaintenanceInProgress"
		if ours && condition.Status == "True" && !c.isSelected(n) {
			c.left("node %s has condition %s, and no maintenance selects it", n.name(), condition.Type)
		}
	}
}

func (c *checker) isSelected(n *node) bool {
	for _, m := range c.maintenances {
		if selectsNode(&m.Spec.NodeSelector, n) {
			return true
		}
	}
	return false
}
