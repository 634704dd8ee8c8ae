// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

const (
	maintenancesAnnotation = "slipway.dev/maintenances"
	maintenanceLabel       = "slipway.dev/maintenance"
	controlPlaneLabel      = "node-role.kubernetes.io/control-plane"
)

// out has the times at which a node was cordoned for maintenances, by their UIDs.
type out map[string]time.Time

// mention is an entry of the annotation of an event, or of a node.
type mention struct {
	UID   string `json:"uid"`
	Name  string `json:"name"`
	State string `json:"state"`
}

// mentions are the maintenances that an annotation lists.
func (t *thing) mentions() (all []mention, err error) {
	text, ok := t.Metadata.Annotations[maintenancesAnnotation]
	if !ok {
		return nil, nil
	}
	return all, json.Unmarshal([]byte(text), &all)
}

// isFor reports whether the event is the drain of a maintenance.
func (e *event) isFor(uid string) bool {
	all, err := e.mentions()
	return err == nil && e.Metadata.Labels[maintenanceLabel] == "drain" &&
		slices.ContainsFunc(all, func(m mention) bool { return m.UID == uid })
}

// judgeEvent checks the maintenances of an event, and the resulting state of its node. known is nil for a new event.
func (c *checker) judgeEvent(r auditlog.Request, known, o *event) {
	all, err := o.mentions()
	if err != nil {
		c.violated(r, "annotation %s cannot be read: %v", maintenancesAnnotation, err)
		return
	}
	for _, m := range all {
		if o.isFor(m.UID) && (known == nil || !known.isFor(m.UID)) && !c.judgeBegin(r, m) {
			o.wrong = append(o.wrong, m.UID)
		}
	}
	c.judgeOut(r, o.Spec.BindingNode)
}

// judgeBegin: no node is begun by a maintenance that is paused, has not come so far or is
// over, or outside its window.
func (c *checker) judgeBegin(r auditlog.Request, begun mention) (right bool) {
	m := c.maintenances[begun.UID]
	if m == nil {
		c.violated(r, "begun for maintenance %s, which there is not", begun.Name)
		return false
	}
	why, wrong := m.keepsOut(r.Began, r.Ended, func(s maintenanceSpec) string {
		if s.Stage != "Cordon" && s.Stage != "Drain" {
			return "which is in stage " + s.Stage
		}
		return ""
	})
	if wrong {
		c.violated(r, "begun for maintenance %s, %s", m.name(), why)
	}
	return !wrong
}

// judgeCordon checks that the maintenance allows a node to begin at the time of its cordon, or of the earlier claim.
func (c *checker) judgeCordon(r auditlog.Request, m *maintenance, by *event) {
	if r.Resource != "nodes" || slices.Contains(by.wrong, m.Metadata.UID) {
		return
	}
	began, ended := r.Began, r.Ended
	if claimed := by.claimed; !claimed.IsZero() && claimed.Before(began) {
		began, ended = claimed, claimed
	}
	if why, wrong := m.keepsOut(began, ended, func(maintenanceSpec) string { return "" }); wrong {
		c.violated(r, "cordoned for maintenance %s, %s", m.name(), why)
	}
}

// keepsOut returns the reason why nodes may not begin at a time, by each spec that was lately in force.
func (m *maintenance) keepsOut(began, ended time.Time, more func(maintenanceSpec) string) (why string, keeps bool) {
	for _, s := range m.since(began.Add(-hearsay)) {
		switch other := more(s); {
		case s.Paused:
			why = "which is paused"
		case other != "":
			why = other
		case ended.Before(s.Window.NotBefore):
			why = "before its window"
		case !s.Window.Deadline.IsZero() && began.Add(-hearsay).After(s.Window.Deadline):
			why = "after its window"
		default:
			return "", false
		}
	}
	return why, true
}

// judgeOut records the nodes in each maintenance: from the cordon by one of its events until the uncordon.
func (c *checker) judgeOut(r auditlog.Request, name string) {
	n := c.nodes[name]
	if n == nil || !n.Spec.Unschedulable {
		delete(c.out, name)
		return
	}
	for _, e := range c.events {
		cordoned := strings.Contains(n.Metadata.Annotations[cordonsAnnotation], e.Metadata.UID)
		if e.Spec.BindingNode != name || !cordoned {
			continue
		}
		all, _ := e.mentions() // judgeEvent reports an unreadable annotation
		for _, m := range all {
			if e.isFor(m.UID) {
				c.goesOut(r, n, m.UID, e)
			}
		}
	}
}

func (c *checker) goesOut(r auditlog.Request, n *node, uid string, by *event) {
	if c.out[n.name()] == nil {
		c.out[n.name()] = out{}
	}
	if _, known := c.out[n.name()][uid]; known {
		return
	}
	c.out[n.name()][uid] = r.Ended
	if m := c.maintenances[uid]; m != nil {
		c.judgeCordon(r, m, by)
		c.judgeLimits(r, n, m, by.seen)
	}
}
