// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"slices"
	"strings"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// A node that gives way has a record HeldBack, which names the event of its drain: that one
// is needed no more. The node begins anew when the drains that it has given way to have
// ended; until then it waits, and takes pods. The record stays, as it counts how often that
// was, until another takes its place.

// mostBehind is how many drains a node waits for at most: of a larger cycle, for some of them.
const mostBehind = 10

// drainsOf are the UIDs of the drains of nodes.
func (p *pass) drainsOf(names []string) string {
	var uids []string
	for _, name := range names[:min(len(names), mostBehind)] {
		uids = append(uids, string(p.byName[name].drain.UID))
	}
	return strings.Join(uids, ",")
}

// givesWay says whether the drain of the node is the one that gives way for a maintenance: not
// if that one has joined it since. While any that it is for is paused, the node goes no step
// further.
func (p *pass) givesWay(n *node, entry For) bool {
	r := rawRecord(n.Records, entry.UID)
	return r != nil && r.State == RecordHeldBack && n.drain != nil && r.Event == n.drain.UID && !entry.Since.After(r.At) && !p.pausedFor(n)
}

// givesWayNow says whether it does for any, and is about to be canceled.
func (p *pass) givesWayNow(n *node) bool {
	return slices.ContainsFunc(n.fors, func(entry For) bool { return p.givesWay(n, entry) })
}

// gaveWay is how often the node gave way for a maintenance since its spec.retry was raised.
func (n *node) gaveWay(m *maintained) int {
	r := rawRecord(n.Records, m.UID)
	if r == nil || r.State != RecordHeldBack || r.Retry < m.Spec.Retry {
		return 0
	}
	return r.Times
}

// findHeldBack finds, for nodes that have given way, the nodes whose drains go on still. Those
// get as much time to go on as drains get until they count as deadlocked.
func (p *pass) findHeldBack() {
	drains := map[string]string{}
	for _, n := range p.nodes {
		if n.drain != nil {
			drains[string(n.drain.UID)] = n.name
		}
	}
	for _, n := range p.nodes {
		for _, r := range n.Records {
			if r.State != RecordHeldBack {
				continue
			}
			for uid := range strings.SplitSeq(r.Behind, ",") {
				if name, goesOn := drains[uid]; goesOn {
					n.behind = append(n.behind, name)
					p.byName[name].helped = latest(p.byName[name].helped, r.At)
				}
			}
		}
		slices.Sort(n.behind)
		n.behind = slices.Compact(n.behind)
	}
}

// isHeldBack says whether the node has given way, and does not begin yet.
func (n *node) isHeldBack(m *maintained) bool { _, is := n.heldBack(m); return is }

// heldBack is why a node that has given way does not begin.
func (n *node) heldBack(m *maintained) (reasoned, bool) {
	r := rawRecord(n.Records, m.UID)
	if r == nil || r.State != RecordHeldBack || len(n.behind) == 0 {
		return reasoned{}, false
	}
	return reasoned{slipwayv1alpha1.ReasonDeadlockHeldBack, fmt.Sprintf(
		"it gave way to nodes whose drains waited for its own, and begins anew when the drains of these have ended: %s", some(n.behind),
	)}, true
}
