// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"time"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/reasons"
	"github.com/slipway-k8s/slipway/nodelease"
)

// Where Slipway takes the leases of nodes, it works on a node only under its lease. If the lease
// is lost, because no controller was there to renew it or a third party has broken it, the node
// stays as it is: no work begins on it, its targets do not rise, its drain does not cordon it
// again and is not canceled, and it does not return, until Slipway has the lease again. Package
// lease asks for it for as long as the node is out. What has begun continues: pods leave, a Job
// runs.

// holder returns who has the lease of a node now, Slipway or another.
func (v *view) holder(n *node) (held nodelease.Held, is bool) {
	held = n.Lease
	return held, v.facts.Leases && held.Holder != "" && (held.Until.IsZero() || !v.alarm.now.After(held.FreeAfter()))
}

// leaseLost returns why a node that is out is left as it is; no cause, if Slipway has its lease or
// needs none.
func (v *view) leaseLost(n *node) cause {
	held, is := v.holder(n)
	switch {
	case !v.facts.Leases || !n.exists():
		return cause{}
	case is && held.Holder != nodelease.Slipway:
		return cause{lifecyclev1alpha1.ReasonLeaseLost, leasedTo(held)}
	case is && (held.Until.IsZero() || held.Valid(v.alarm.now.Add(nodelease.Skew))), !n.underLease():
		return cause{}
	}
	if is { // no event may tell that it was renewed at the last moment
		v.alarm.passed(held.FreeAfter().Add(time.Millisecond))
	}
	return cause{lifecyclev1alpha1.ReasonLeaseLost, "the lease of the node is not Slipway's any more; it is taken again before anything else"}
}

// leasedByOthers returns that another tool works on a node that has not begun, or is about to
// begin in vain.
func (v *view) leasedByOthers(n *node) (why cause, is bool) {
	held, is := v.holder(n)
	if !is || held.Holder == nodelease.Slipway {
		return cause{}, false
	}
	return cause{lifecyclev1alpha1.ReasonHeldByAnother, leasedTo(held)}, true
}

// waitsForLease is leasedByOthers for a node that waits for its turn: the next decision is due
// when that lease has expired.
func (v *view) waitsForLease(n *node) cause {
	why, is := v.leasedByOthers(n)
	if free := n.Lease.FreeAfter(); is && !free.IsZero() {
		v.alarm.passed(free.Add(time.Millisecond))
	}
	return why
}

// underLease reports whether Slipway has, or asks for, the lease of a node that it has out.
func (n *node) underLease() bool {
	return n.drain != nil && claimed(n.drain) || n.Spec.Unschedulable && len(n.CordonedFor) > 0
}

// leasedTo says who has the lease of a node, and for what.
func leasedTo(held nodelease.Held) string {
	text := fmt.Sprintf("the node is leased to %q", held.Holder)
	if held.Purpose != "" {
		text += fmt.Sprintf(" for %q", reasons.Shorten(held.Purpose, maxPurpose))
	}
	return text
}

// maxPurpose is how many bytes of a purpose are shown.
const maxPurpose = 256
