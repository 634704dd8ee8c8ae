// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

const claimFinalizer = "lifecycle.k8s.io/claim-protection"

type event struct {
	thing
	Spec struct {
		BindingNode string          `json:"bindingNode"`
		RequestedBy string          `json:"requestedBy"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"spec"`
	Status struct {
		ClaimStatus string `json:"claimStatus"`
		ClaimedBy   struct {
			Kind string `json:"kind"`
		} `json:"claimedBy"`
		Conditions []condition `json:"conditions"`
	} `json:"status"`

	seen    time.Time // first
	claimed time.Time // the earliest time at which it was seen claimed
	asked   []asked   // all parameters so far, in order
	wrong   []string  // the UIDs of maintenances that did not allow it
}

var terminal = []string{"Succeeded", "Failed", "SlaExpired"}

// eventWritten takes in an event, and judges its phases. Events of the same name can be
// in two API groups.
func (c *checker) eventWritten(r auditlog.Request) {
	k := key(r.Group, r.Name)
	if deletes(r) {
		c.judgeForeign(r, c.events[k])
		if known := c.events[k]; known != nil && len(known.Metadata.Finalizers) == 0 {
			c.eventGone(r, k, known)
		}
		return
	}
	o := object[event](r)
	if o == nil || !c.watched(o.Spec.BindingNode) {
		return
	}
	k = key(r.Group, o.Metadata.Name)
	known := c.events[k]
	if known != nil && known.Metadata.UID != o.Metadata.UID {
		known = nil
	}
	if known != nil && o.olderThan(&known.thing) {
		return
	}
	c.takeIn(r, k, known, o)
	if o.Metadata.DeletionTimestamp != "" && len(o.Metadata.Finalizers) == 0 {
		c.eventGone(r, k, o)
	}
}

// takeIn checks the change of an event. known is nil for a new event.
func (c *checker) takeIn(r auditlog.Request, k string, known, o *event) {
	if o.Status.ClaimStatus == "" {
		o.Status.ClaimStatus = "Pending"
	}
	o.seen = r.Began
	if known != nil {
		c.judgeForeign(r, known)
		c.judgePhases(r, known, o)
		c.judgeCanceled(r, known, o)
		o.seen, o.claimed, o.asked, o.wrong = known.seen, known.claimed, known.asked, known.wrong
	}
	if last := len(o.asked) - 1; known == nil || !bytes.Equal(known.Spec.Parameters, o.Spec.Parameters) || last < 0 {
		o.asked = append(o.asked, asked{r.Began, askedBy(o)})
	}
	if o.Status.ClaimStatus == "Claimed" && o.claimed.IsZero() {
		o.claimed = r.Began
		if c.options.Ours(r) {
			c.judgeClaim(r, o)
		}
	}
	if o.inWork() && (known == nil || !known.inWork()) && c.options.Ours(r) {
		c.judgeTurn(r, o)
	}
	c.events[k] = o
	c.judgeEvent(r, known, o)
}

// eventGone checks that a claimed event has ended before its deletion.
func (c *checker) eventGone(r auditlog.Request, k string, e *event) {
	if e.Status.ClaimStatus == "Claimed" && c.options.Ours(r) {
		c.violated(r, "gone without a terminal phase")
	}
	delete(c.events, k)
}

func (c *checker) judgePhases(r auditlog.Request, before, after *event) {
	from, to := before.Status.ClaimStatus, after.Status.ClaimStatus
	switch {
	case from == to:
	case from == "Pending" && (to == "Claimed" || to == "Failed"):
	case from == "Claimed" && slices.Contains(terminal, to):
	default:
		c.violated(r, "went from %s to %s", from, to)
	}
}

// judgeForeign checks that Slipway writes and deletes no event that another controller has claimed, unless a person has
// released it.
func (c *checker) judgeForeign(r auditlog.Request, before *event) {
	if before == nil || before.Status.ClaimStatus != "Claimed" || !c.options.Ours(r) {
		return
	}
	_, released := before.Metadata.Annotations["slipway.dev/release-claim"]
	if kind := before.Status.ClaimedBy.Kind; !released && kind != "NodeAgent" && kind != "Controller" {
		c.violated(r, "writes the event of another claimer (claimedBy.kind %q)", kind)
	}
}

// judgeCanceled: when an event that was canceled is wound up, its cordon is undone.
func (c *checker) judgeCanceled(r auditlog.Request, before, after *event) {
	n := c.nodes[after.Spec.BindingNode]
	if n == nil || !before.protected() || after.protected() || !c.options.Ours(r) {
		return
	}
	for _, condition := range after.Status.Conditions {
		canceled := condition.Type == "Finished" && condition.Reason == "Canceled"
		if cordons := n.Metadata.Annotations[cordonsAnnotation]; canceled && strings.Contains(cordons, after.Metadata.UID) {
			c.violated(r, "wound up after it was canceled, and its cordon is left: %s", cordons)
		}
	}
}

func (e *event) protected() bool { return slices.Contains(e.Metadata.Finalizers, claimFinalizer) }

// inWork returns whether Slipway may have called the event's driver: the event has been claimed, and has the finalizer.
func (e *event) inWork() bool {
	return e.protected() && (e.Status.ClaimStatus == "Claimed" || slices.Contains(terminal, e.Status.ClaimStatus))
}

// judgeClaim: no other event of the node is claimed by the same kind of claimer, or has ended and is not wound up. The agent
// and the controller may each claim an event at the same moment.
func (c *checker) judgeClaim(r auditlog.Request, claimed *event) {
	for other := range c.others(claimed) {
		if other.Status.ClaimedBy.Kind == claimed.Status.ClaimedBy.Kind && (other.Status.ClaimStatus == "Claimed" || other.inWork()) {
			c.violated(r, "claimed while %s was %s", other.Metadata.Name, other.Status.ClaimStatus)
		}
	}
}

// judgeTurn: no other event of the node is in work.
func (c *checker) judgeTurn(r auditlog.Request, begun *event) {
	for other := range c.others(begun) {
		if other.inWork() {
			c.violated(r, "began while %s was in work", other.Metadata.Name)
		}
	}
}

// others returns the other events of the event's node.
func (c *checker) others(of *event) iter.Seq[*event] {
	return func(yield func(*event) bool) {
		for _, other := range c.events {
			if other.Metadata.UID != of.Metadata.UID && other.Spec.BindingNode == of.Spec.BindingNode && !yield(other) {
				return
			}
		}
	}
}
