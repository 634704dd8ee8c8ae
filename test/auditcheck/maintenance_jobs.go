// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"fmt"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

const (
	workNodeLabel     = "slipway.dev/node"
	workForAnnotation = "slipway.dev/maintenance-uid"
)

// job is a Job. A Job of Slipway names its node.
type job struct {
	thing
}

func (j *job) node() string { return j.Metadata.Labels[workNodeLabel] }

// owners are the UIDs of the maintenances that a Job is for.
func (j *job) owners() (uids []string) {
	all, _ := j.mentions()
	for _, m := range all {
		uids = append(uids, m.UID)
	}
	if uid := j.Metadata.Annotations[workForAnnotation]; uid != "" {
		uids = append(uids, uid)
	}
	return uids
}

// jobWritten takes in a Job, and judges those that we create.
func (c *checker) jobWritten(r auditlog.Request) {
	if deletes(r) {
		c.jobDeleted(r)
		return
	}
	o := object[job](r)
	if o == nil || o.node() == "" || !c.watched(o.node()) {
		return
	}
	if o.Metadata.DeletionTimestamp != "" && len(o.Metadata.Finalizers) == 0 {
		delete(c.jobs, o.Metadata.UID)
		return
	}
	known := c.jobs[o.Metadata.UID]
	if c.collected[o.Metadata.UID] || known != nil && o.olderThan(&known.thing) {
		return
	}
	c.jobs[o.Metadata.UID] = o
	if r.Verb == "create" && c.options.Ours(r) {
		c.judgeLease(r, o.node(), "begins a Job on")
		c.judgeHolds(r, o.node(), "begins a Job on")
		c.judgeWork(r, o)
	}
}

// jobDeleted: a deletion that leaves nothing behind. An earlier write can follow in the log.
func (c *checker) jobDeleted(r auditlog.Request) {
	answered := object[job](r)
	for uid, known := range c.jobs {
		same := known.Metadata.Namespace == r.Namespace && (known.name() == r.Name || r.Name == "")
		if same && (answered == nil && len(known.Metadata.Finalizers) == 0 || answered != nil && answered.gone()) {
			delete(c.jobs, uid)
			c.collected[uid] = true
		}
	}
}

// judgeWork checks that a Job works on a node in maintenance, once, or once more after a retry, and only when the
// drain has evicted all its pods.
func (c *checker) judgeWork(r auditlog.Request, o *job) {
	owners := o.owners()
	if len(owners) == 0 {
		c.violated(r, "a Job for node %s, and for no maintenance", o.node())
	}
	for _, uid := range owners {
		m := c.maintenances[uid]
		if m == nil {
			c.violated(r, "a Job for a maintenance that there is not")
			continue
		}
		if _, is := c.out[o.node()][uid]; !is {
			c.violated(r, "work on node %s, which maintenance %s has not begun", o.node(), m.name())
		}
		once := fmt.Sprintf("%s %s %d", o.node(), uid, m.Spec.Retry)
		if before := c.worked[once]; before != "" {
			c.violated(r, "a second Job for node %s and maintenance %s; the first was %s", o.node(), m.name(), before)
		}
		c.worked[once] = o.name()
		c.judgeEmpty(r, o, m)
	}
}

// judgeEmpty checks that no pod is on the node that the drain should evict. It ignores pods of the last moment, which
// a drain may not have seen.
func (c *checker) judgeEmpty(r auditlog.Request, o *job, m *maintenance) {
	if m.Spec.Drain.UnmanagedPods != "" || m.Spec.Drain.LocalStorage != "" {
		return // some may stay, and which those are the log does not tell
	}
	for k, p := range c.pods {
		stays := p.mirror() || p.ofDaemonSet() || p.finished() || !p.goneAt.IsZero() || c.skips(p)
		if p.Spec.NodeName == o.node() && !stays && p.since.Before(r.Began.Add(-hearsay)) {
			c.violated(r, "work on node %s, on which pod %s is left", o.node(), k)
		}
	}
}

// skips reports whether a rule, or the pod's own label, skips the pod. Cluster-wide rules select by labels of namespaces, which the log does
// not show.
func (c *checker) skips(p *pod) bool {
	if p.Metadata.Labels[behaviorLabel] == "skip" {
		return true
	}
	for _, o := range c.rules {
		if o.Spec.NamespaceSelector != nil && o.Spec.Behavior == "Skip" && selects(&o.Spec.PodSelector, p.Metadata.Labels) {
			return true
		}
	}
	counts := c.ruleFor(p)
	return counts != nil && counts.Spec.Behavior == "Skip"
}
