// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/deadlock"
)

// MaxGivesWay is how often a node gives way for a maintenance, until spec.retry is raised:
// nodes do not take turns for ever at something that does not help.
const MaxGivesWay = 2

// deadlocks finds nodes whose drains wait for each other (package deadlock), and has one of
// them give way. First the status says so, then a record on the Node does, and because of
// that its drain is canceled, as that of a node that nobody needs out.
func (p *pass) deadlocks() {
	facts := deadlock.Facts{Budgets: p.budgets()}
	for _, n := range p.nodes {
		if n.exists() && (n.drain != nil || n.back != nil) {
			facts.Drains = append(facts.Drains, p.inDeadlock(n))
		}
	}
	found := deadlock.Next(facts, p.now)
	p.decision.Starving = found.Ask
	p.wakeAt(found.Wake)
	for _, d := range found.Deadlocks {
		p.resolve(d)
	}
}

// inDeadlock is what package deadlock is told of a node that is out.
func (p *pass) inDeadlock(n *node) deadlock.Drain {
	d := deadlock.Drain{Node: n.name, ComesBack: true}
	if n.drain == nil || n.back != nil || len(n.begin) > 0 || released(n.fors) || p.givesWayNow(n) {
		return d
	}
	d.Refused, d.Since = refused(n.drain)
	d.Since = latest(d.Since, n.helped)
	d.Began = claimedAt(n.drain)
	d.MayGiveWay = !n.CordonedBefore && slices.Equal(n.CordonedFor, []types.UID{n.drain.UID})
	if d.Refused == nil {
		return d
	}
	d.Gone = int(n.drain.Status.Progress.Done)
	for _, entry := range n.fors {
		m := p.byUID[entry.UID]
		may := m != nil && m.drains() && !m.Spec.Paused && n.recordOf(m) == nil && p.standingOf(n, entry) == needs && !p.drainedFor(n, m, entry)
		d.MayGiveWay = d.MayGiveWay && may && n.gaveWay(m) < MaxGivesWay
		d.ComesBack = d.ComesBack && m != nil && m.Spec.Rollout != nil
	}
	return d
}

const (
	blockedByBudget = "BudgetExhausted"
	kindBudget      = "PodDisruptionBudget "
)

// refused are the budgets that refuse all pods that a drain has left, since the last of them
// did; none, if anything moves, or something else holds it up, or may: not all that blocks is
// listed where it is much.
func refused(e *lifecyclev1alpha1.LifecycleEvent) (budgets []string, since time.Time) {
	s := e.Status
	if ended(e) || !claimed(e) || reached(e) || s.ObservedGeneration != e.Generation || s.Progress == nil ||
		len(s.Blockers) == 0 || s.BlockersTotal != s.Progress.Total-s.Progress.Done || int(s.BlockersTotal) != len(s.Blockers) {
		return nil, time.Time{}
	}
	for _, b := range s.Blockers {
		budget, is := strings.CutPrefix(b.By, kindBudget)
		if b.Reason != blockedByBudget || !is || b.Since == nil {
			return nil, time.Time{}
		}
		budgets, since = append(budgets, budget), latest(since, b.Since.Time)
	}
	slices.Sort(budgets)
	return slices.Compact(budgets), since
}

// budgets are those that are known, with their pods that no node takes.
func (p *pass) budgets() (all []deadlock.Budget) {
	waiting := map[string][]deadlock.Waiting{}
	for _, u := range p.facts.Unscheduled {
		w := deadlock.Waiting{Pod: u.Pod.Namespace + "/" + u.Pod.Name, Since: unschedulableSince(u.Pod), Fits: p.fits(u.Pod)}
		if w.Since.IsZero() {
			continue
		}
		for _, budget := range u.Budgets {
			waiting[budget] = append(waiting[budget], w)
		}
	}
	for name, pods := range waiting {
		s, known := p.facts.BudgetStatuses[name]
		if !known {
			continue
		}
		all = append(all, deadlock.Budget{
			Name: name, Expected: int(s.ExpectedPods), Desired: int(s.DesiredHealthy), Allowed: int(s.DisruptionsAllowed), Waiting: pods,
		})
	}
	return all
}

// unschedulableSince is when the scheduler first found no node for a pod; zero, if it has not
// said so.
func unschedulableSince(pod *corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// resolve says that nodes are in a deadlock, and has one of them give way when the status of
// each maintenance that it is out for has said so.
func (p *pass) resolve(d deadlock.Deadlock) {
	budgets := listed("budget", d.Budgets)
	if d.GivesWay == "" {
		why := reasoned{slipwayv1alpha1.ReasonDeadlock, fmt.Sprintf("the drains of nodes %s wait for each other: pods of %s that could run there "+
			"find no node, and none of these nodes may give way: add room for these pods, relax the budgets, or have spec.nodeSelector select one of them no more: it returns undone",
			some(d.Nodes), budgets)}
		for _, name := range d.Nodes {
			p.sayDeadlock(p.byName[name], why)
		}
		return
	}
	n := p.byName[d.GivesWay]
	others := slices.DeleteFunc(slices.Clone(d.Nodes), func(name string) bool { return name == n.name })
	why := reasoned{slipwayv1alpha1.ReasonDeadlockHeldBack, fmt.Sprintf("its drain and those of %s wait for each other: pods of %s find no node; "+
		"this node gives way and takes pods again, and begins anew when these drains have ended", some(others), budgets)}
	p.sayDeadlock(n, why)
	for _, entry := range n.fors {
		if !p.byUID[entry.UID].says(n.name, why.reason) {
			return
		}
	}
	for _, entry := range n.fors {
		m := p.byUID[entry.UID]
		p.note(n, Record{
			UID: m.UID, State: RecordHeldBack, Retry: m.Spec.Retry, Reason: why.reason, Message: why.message,
			Event: n.drain.UID, Cordon: n.drain.UID, Times: n.gaveWay(m) + 1, Behind: p.drainsOf(others),
		})
	}
}

func (p *pass) sayDeadlock(n *node, why reasoned) {
	n.deadlock = why
	for _, entry := range n.fors {
		if m := p.byUID[entry.UID]; m != nil {
			m.deadlock = reasoned{why.reason, "node " + n.name + ": " + why.message}
		}
	}
}

// says says whether the status of a maintenance names a reason for a node; where it has no
// room for the node, whether it names it at all.
func (m *maintained) says(node, reason string) bool {
	if slices.ContainsFunc(m.Status.NodeStatuses, func(s slipwayv1alpha1.MaintenanceNodeStatus) bool {
		return s.Name == node && s.Reason == reason
	}) {
		return true
	}
	c := apimeta.FindStatusCondition(m.Status.Conditions, slipwayv1alpha1.MaintenanceProgressing)
	return len(m.Status.NodeStatuses) == maxListed && c != nil && c.Reason == reason
}

func listed(what string, names []string) string {
	if len(names) > 1 {
		what += "s"
	}
	return what + " " + some(names)
}
