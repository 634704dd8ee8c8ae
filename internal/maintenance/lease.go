// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"slices"
	"time"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/rollout"
	"github.com/slipway-k8s/slipway/internal/reasons"
	"github.com/slipway-k8s/slipway/nodelease"
)

// Where Slipway takes the leases of nodes, a node is worked on under its lease. One whose
// lease is lost, because no controller was there to keep it or somebody has broken it, stays
// as it is: no work begins on it, its targets do not rise, nobody cordons it again, and it is
// neither returned nor is its drain canceled, until Slipway has the lease again. Package
// leases asks for it for as long as the node is out. What goes on, goes on: pods that leave,
// a Job that runs.

// holder is who has the lease of a node now, Slipway or another.
func (p *pass) holder(n *node) (held nodelease.Held, is bool) {
	held = n.Lease
	return held, p.facts.Leases && held.Holder != "" && (held.Until.IsZero() || !p.now.After(held.FreeAfter()))
}

// lostLease is why a node that is out is left as it is.
func (p *pass) lostLease(n *node) (why reasoned, lost bool) {
	held, is := p.holder(n)
	switch {
	case !p.facts.Leases || !n.exists():
		return reasoned{}, false
	case is && held.Holder != nodelease.Slipway:
		return reasoned{lifecyclev1alpha1.ReasonLeaseLost, leasedTo(held)}, true
	case is && (held.Until.IsZero() || held.Valid(p.now.Add(nodelease.Skew))), !n.underLease():
		return reasoned{}, false
	default:
		if is { // that it was renewed in the last moment, nobody might tell
			p.wakeAt(held.FreeAfter().Add(time.Millisecond))
		}
		return reasoned{lifecyclev1alpha1.ReasonLeaseLost, "the lease of the node is not Slipway's any more; it is taken again before anything else"}, true
	}
}

// leasedByOthers is why a node does not begin, or is about to begin in vain: somebody else
// works on it.
func (p *pass) leasedByOthers(n *node) (why reasoned, is bool) {
	held, is := p.holder(n)
	if !is || held.Holder == nodelease.Slipway {
		return reasoned{}, false
	}
	return reasoned{lifecyclev1alpha1.ReasonHeldByAnother, leasedTo(held)}, true
}

// waitsForLease says of a node that waits for its turn that somebody else works on it, and
// looks again when that one's lease has expired.
func (p *pass) waitsForLease(n *node) reasoned {
	why, is := p.leasedByOthers(n)
	if free := n.Lease.FreeAfter(); is && !free.IsZero() {
		p.wakeAt(free.Add(time.Millisecond))
	}
	return why
}

// findUnleased finds whether nodes wait for their turn that nobody else works on. With a
// rollout, those come first: a node that waits for a lease would keep them waiting, for as
// long as its holder likes. When none of them is left, the others begin, and wait.
func (p *pass) findUnleased(m *maintained) {
	m.unleasedWait = slices.ContainsFunc(m.selected, func(n *node) bool {
		_, leased := p.leasedByOthers(n)
		return !leased && n.stateFor(m) == rollout.Waiting
	})
}

// letsOthersBegin says whether a node leaves its turn in a rollout to others, as it would have
// to wait for a lease.
func (p *pass) letsOthersBegin(n *node, m *maintained) bool {
	if m.Spec.Rollout == nil || m.holdUp.reason != "" || !m.unleasedWait {
		return false
	}
	_, leased := p.leasedByOthers(n)
	return leased
}

// underLease says whether Slipway has, or asks for, the lease of a node that it has out.
func (n *node) underLease() bool {
	return n.drain != nil && claimed(n.drain) || n.Spec.Unschedulable && len(n.CordonedFor) > 0
}

// leasedTo says who has the lease of a node, and why.
func leasedTo(held nodelease.Held) string {
	text := fmt.Sprintf("the node is leased to %q", held.Holder)
	if held.Purpose != "" {
		text += fmt.Sprintf(" for %q", reasons.Shorten(held.Purpose, maxPurpose))
	}
	return text
}

// maxPurpose is how much of a purpose others are shown.
const maxPurpose = 256

// awaitsLease says that a node does not go back while its lease is lost, if it is.
func (p *pass) awaitsLease(n *node, fors []For) bool {
	why, lost := p.lostLease(n)
	if !lost {
		return false
	}
	for _, entry := range fors {
		if m := p.byUID[entry.UID]; m != nil && (n.drain == nil || !p.failedPlace(n, m)) {
			p.at(n, entry.UID, slipwayv1alpha1.NodeHeld, why, time.Time{})
		}
	}
	return true
}

// workBegan says whether the work of a maintenance on a node has begun, or somebody has said
// that it is done.
func (p *pass) workBegan(n *node, m *maintained, entry For) bool {
	if !entry.Worked.IsZero() || entry.Begun || p.jobOf(n, entry) != nil {
		return true
	}
	_, said := n.drain.Annotations[slipwayv1alpha1.WorkDoneAnnotation]
	return said && m.workType() == slipwayv1alpha1.WorkManual
}
