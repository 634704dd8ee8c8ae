// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// conditionSchedulable is the drain driver's, of an event that returns a node. It is False
// where somebody else had cordoned the node before.
const conditionSchedulable = "Schedulable"

// returning is for a node that is being put back.
func (p *pass) returning(n *node) {
	if n.drain != nil && ended(n.drain) {
		p.letGo(n.drain)
	}
	switch {
	case !over(n.back):
		why := reasoned{}
		if pending(n.back) {
			why = notClaimed(n.back)
		}
		p.everywhere(n, slipwayv1alpha1.NodeReturning, why, n.back.CreationTimestamp.Time)
	case n.back.Status.ClaimStatus != lifecyclev1alpha1.Succeeded:
		p.notReturned(n)
	default:
		p.returned(n)
	}
}

// notReturned records that a return has failed, then lets go of it.
func (p *pass) notReturned(n *node) {
	why := endOf(n.back)
	why.reason = slipwayv1alpha1.ReasonReturnFailed
	recorded := true
	for _, entry := range n.fors {
		m := p.byUID[entry.UID]
		if m == nil {
			continue
		}
		p.at(n, m.UID, slipwayv1alpha1.NodeFailed, why, time.Time{})
		if r := rawRecord(n.Records, m.UID); r == nil || r.Event != n.back.UID {
			recorded = false
			p.note(n, Record{
				UID: m.UID, State: RecordFailed, Retry: m.Spec.Retry, Reason: why.reason, Message: why.message,
				Event: n.back.UID, Cordon: n.anyCordon(),
			})
		}
	}
	if recorded {
		p.letGo(n.back)
	}
}

// anyCordon is an event for which the node is cordoned: a return undoes all of ours.
func (n *node) anyCordon() types.UID {
	if len(n.CordonedFor) == 0 {
		return ""
	}
	return n.CordonedFor[0]
}

// returned waits until the node is healthy, or somebody accepts it as it is, records that it is
// back, and lets go of it.
func (p *pass) returned(n *node) {
	since := transitionOf(n.back, lifecyclev1alpha1.ConditionFinished)
	why := p.unhealthy(n)
	if by, accepted := n.back.Annotations[slipwayv1alpha1.UnhealthyAcceptedAnnotation]; accepted && why.reason != "" {
		why.message = fmt.Sprintf("accepted by %s: %s", by, why.message)
	} else if why.reason != "" {
		why.message += n.howAccepted()
		p.everywhere(n, slipwayv1alpha1.NodeUnhealthy, why, since)
		return
	}
	recorded := true
	for _, entry := range n.fors {
		m := p.byUID[entry.UID]
		if m == nil || m.DeletionTimestamp != nil {
			continue
		}
		r := n.recordOf(m)
		if r != nil && r.State == RecordDone || r == nil && m.returns() {
			recorded = false
			p.note(n, Record{UID: m.UID, State: RecordReturned, Retry: m.Spec.Retry, Reason: why.reason, Message: why.message})
		}
	}
	p.everywhere(n, slipwayv1alpha1.NodeReturning, reasoned{}, since)
	if recorded {
		p.letGo(n.back)
	}
}

// unhealthy is why a node that is back is not counted as back yet. When all maintenances
// are in stage Complete, nobody waits for it.
func (p *pass) unhealthy(n *node) reasoned {
	if !slices.ContainsFunc(n.fors, func(entry For) bool { m := p.byUID[entry.UID]; return m != nil && m.works() }) {
		return reasoned{}
	}
	p.decision.Check = append(p.decision.Check, n.name)
	switch {
	case !n.ready():
		return reasoned{slipwayv1alpha1.ReasonNodeNotReady, "the node is not Ready"}
	case n.Spec.Unschedulable && !cordonedBefore(n.back):
		return reasoned{slipwayv1alpha1.ReasonNodeCordoned, "the node was cordoned by somebody else after its return"}
	case !n.Checked:
		return reasoned{slipwayv1alpha1.ReasonDaemonSetsUnready, "the pods of its DaemonSets are looked at"}
	case p.facts.KeptAwayUnknown:
		return reasoned{slipwayv1alpha1.ReasonDaemonSetsUnready, "the pods of its DaemonSets that were kept away are looked at"}
	case len(p.keptFrom(n)) > 0:
		kept := p.keptFrom(n)
		return reasoned{slipwayv1alpha1.ReasonDaemonSetsUnready, fmt.Sprintf("%d pods of DaemonSets are on their way back: %s", len(kept), some(kept))}
	case len(n.Unready) > 0:
		return reasoned{slipwayv1alpha1.ReasonDaemonSetsUnready, fmt.Sprintf("%d pods of DaemonSets are not Ready: %s", len(n.Unready), some(n.Unready))}
	default:
		return reasoned{}
	}
}

// howAccepted is what to do where nobody can make the node healthy: a pod of one team's must
// not hold a fleet up for ever.
func (n *node) howAccepted() string {
	if !n.Checked {
		return ""
	}
	return fmt.Sprintf("; if it is to count as back all the same: kubectl slipway done %s --accept-unhealthy", n.name)
}

// cordonedBefore says whether the return found a cordon that was there before ours.
func cordonedBefore(back *lifecyclev1alpha1.LifecycleEvent) bool {
	return back != nil && apimeta.IsStatusConditionPresentAndEqual(back.Status.Conditions, conditionSchedulable, metav1.ConditionFalse)
}

// idle is for a node without an event of ours: one that is taken up now, that is still
// cordoned for a drain that has failed, or that somebody else has put back.
func (p *pass) idle(n *node) {
	if len(n.begin) > 0 {
		p.takeOut(n)
		return
	}
	if left := p.leftCordoned(n); len(left) > 0 {
		p.putBack(n, left)
		return
	}
	for _, r := range n.Records {
		if m := p.byUID[r.UID]; m != nil && r.State == RecordDone && m.DeletionTimestamp == nil {
			p.note(n, Record{UID: m.UID, State: RecordReturned, Retry: r.Retry})
		}
	}
}

// leftCordoned are the maintenances for which a node is cordoned that has no drain any
// more, when none of them wants it to stay so.
func (p *pass) leftCordoned(n *node) []For {
	var left []For
	for _, r := range n.Records {
		if !n.cordonedFor(r) {
			continue
		}
		m := p.byUID[r.UID]
		switch {
		case m == nil, m.givenUp(r):
			continue
		case r.State == RecordFailed && m.works() && m.selects(n):
			return nil
		}
		left = append(left, For{UID: r.UID, Name: m.Name, Retry: r.Retry, Released: true})
	}
	return left
}

// some names a few, in order.
func some(names []string) string {
	const shown = 5
	names = slices.Sorted(slices.Values(names))
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
