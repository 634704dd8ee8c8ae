// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

type pod struct {
	thing
	Spec struct {
		NodeName string `json:"nodeName"`
		Priority int64  `json:"priority"`
	} `json:"spec"`
	Status struct {
		Phase      string      `json:"phase"`
		Conditions []condition `json:"conditions"`
	} `json:"status"`

	since    time.Time // when it was bound to its node
	deleted  time.Time // when it was first evicted or deleted
	goneAt   time.Time // the time of its deletion in the log
	previous *pod      // the pod that had this name before
}

func (p *pod) ready() bool { return isTrue(p.Status.Conditions, "Ready") }

func (p *pod) finished() bool { return p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" }

func (p *pod) mirror() bool {
	_, mirror := p.Metadata.Annotations["kubernetes.io/config.mirror"]
	return mirror
}

func (p *pod) ofDaemonSet() bool {
	for _, owner := range p.Metadata.OwnerReferences {
		if owner.Controller && owner.Kind == "DaemonSet" && strings.HasPrefix(owner.APIVersion, "apps/") {
			return true
		}
	}
	return false
}

// podWritten takes in a pod.
func (c *checker) podWritten(r auditlog.Request) {
	o := object[pod](r)
	if o == nil {
		return
	}
	k := key(o.Metadata.Namespace, o.Metadata.Name)
	if known := c.pods[k]; known != nil && known.Metadata.UID == o.Metadata.UID {
		if o.olderThan(&known.thing) {
			return
		}
		o.deleted, o.goneAt, o.previous = known.deleted, known.goneAt, known.previous
		if o.Spec.NodeName == "" {
			o.Spec.NodeName = known.Spec.NodeName
		}
		o.since = known.since
	} else {
		if known != nil {
			known.previous = nil
			o.previous = known
		}
		if early, bound := c.early[k]; bound && o.Spec.NodeName == "" {
			o.Spec.NodeName, o.since = early.Target.Name, early.answered
		}
		delete(c.early, k)
	}
	if o.since.IsZero() && o.Spec.NodeName != "" {
		o.since = r.Ended
	}
	if o.Metadata.DeletionTimestamp != "" && o.deleted.IsZero() {
		o.deleted = r.Began
	}
	c.pods[k] = o
}

// bound takes in where the scheduler has put a pod.
func (c *checker) bound(r auditlog.Request) {
	b, k := binding{answered: r.Ended}, key(r.Namespace, r.Name)
	if json.Unmarshal(r.Body, &b) != nil {
		return
	}
	if known := c.pods[k]; known.wasThere(r) {
		known.Spec.NodeName, known.since = b.Target.Name, b.answered
		return
	}
	c.early[k] = b
}

// binding names the node to which the scheduler has bound a pod.
type binding struct {
	Target struct {
		Name string `json:"name"`
	} `json:"target"`
	answered time.Time
}

// evicted checks an accepted eviction by Slipway, and records any eviction.
func (c *checker) evicted(r auditlog.Request) {
	known := c.podOf(r)
	judged := c.concerns(r, known)
	if known == nil {
		if judged {
			c.violated(r, "the log does not know the pod")
		}
		return
	}
	if judged {
		c.judgeScope(r, known)
		c.judgeBudget(r, known)
		c.judgeLease(r, known.Spec.NodeName, "evicts from")
	} else {
		c.useBudget(r, known)
	}
	known.isDeleted(r)
}

// podOf returns the pod of an eviction or a deletion, nil if the log knows none. The server can answer after the
// deletion of the pod, when a successor has the same name.
func (c *checker) podOf(r auditlog.Request) *pod {
	known := c.pods[key(r.Namespace, r.Name)]
	if known != nil && known.previous.wasThere(r) {
		if options, err := optionsOf(r); err == nil && options.Preconditions.UID == known.previous.Metadata.UID {
			return known.previous
		}
	}
	if !known.wasThere(r) {
		return nil
	}
	return known
}

// wasThere reports whether the pod existed when the request began, or later.
func (p *pod) wasThere(r auditlog.Request) bool {
	return p != nil && (p.goneAt.IsZero() || !p.goneAt.Before(r.Began))
}

func (p *pod) isDeleted(r auditlog.Request) {
	p.Metadata.DeletionTimestamp = r.Ended.String()
	if p.deleted.IsZero() {
		p.deleted = r.Began
	}
}

// podDeleted checks a deletion by Slipway, and records any deletion.
func (c *checker) podDeleted(r auditlog.Request) {
	known := c.podOf(r)
	if c.concerns(r, known) {
		c.judgeDeletion(r, known)
	}
	if known == nil {
		return
	}
	if o := object[pod](r); o != nil && o.gone() {
		known.goneAt = r.Ended
		return
	}
	known.isDeleted(r)
}

// concerns reports whether Slipway sent the request, for a pod of a checked node.
func (c *checker) concerns(r auditlog.Request, p *pod) bool {
	if !c.options.Ours(r) {
		return false
	}
	return c.watched(nodeOf(r)) || p != nil && c.watched(p.Spec.NodeName)
}
