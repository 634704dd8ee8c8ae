// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/deadlock"
)

// Package deadlock finds nodes whose drains wait for each other, and one of them gives way. First the status of each of
// its maintenances reports that. Then the Node gets a record HeldBack with the event of its drain, and this controller
// cancels that drain. The node begins again when the drains that it gave way to have ended; until then it waits, and is
// schedulable. The record stays until another one replaces it, as it counts how often the node gave way.

// MaxGivesWay limits how often a node gives way for a maintenance, until spec.retry is raised: without a limit, nodes
// could give way in turn, forever and to no effect.
const MaxGivesWay = 2

// maxBehind limits the drains that a node waits for. In a larger cycle, it waits for some of them.
const maxBehind = 10

const (
	blockedByBudget = "BudgetExhausted"
	kindBudget      = "PodDisruptionBudget "
)

// deadlocks are the deadlocks of this decision.
type deadlocks struct {
	// ofNode are the deadlocks of nodes, by name, and of the deadlocks of maintenances, by UID.
	ofNode map[string]cause
	of     map[types.UID]cause
	// records of the nodes that give way, by name.
	records map[string][]Record
	// asks: the next decision needs the unschedulable pods.
	asks bool
}

func (s *selection) findDeadlocks() deadlocks {
	found := deadlocks{ofNode: map[string]cause{}, of: map[types.UID]cause{}, records: map[string][]Record{}}
	facts := deadlock.Facts{Budgets: s.starvedBudgets()}
	for _, n := range s.nodes {
		if n.exists() && (n.drain != nil || n.back != nil) {
			facts.Drains = append(facts.Drains, s.inDeadlock(n))
		}
	}
	decision := deadlock.Next(facts, s.alarm.now)
	found.asks = decision.Ask
	if !decision.Wake.IsZero() {
		s.alarm.passed(decision.Wake)
	}
	for _, d := range decision.Deadlocks {
		s.resolve(d, &found)
	}
	return found
}

// inDeadlock returns the facts of package deadlock on a node that is out of service.
func (s *selection) inDeadlock(n *node) deadlock.Drain {
	d := deadlock.Drain{Node: n.name, ComesBack: true}
	yieldsNow := slices.ContainsFunc(n.refs, func(ref Ref) bool { return s.yields(n, ref) })
	if n.drain == nil || n.back != nil || len(s.begins[n.name]) > 0 || released(n.refs) || yieldsNow {
		return d
	}
	d.Refused, d.Since = refusedBy(n.drain)
	d.Since = latest(d.Since, n.helped)
	d.Began = claimedAt(n.drain)
	d.MayGiveWay = !n.CordonedBefore && slices.Equal(n.CordonedFor, []types.UID{n.drain.UID})
	if d.Refused == nil {
		return d
	}
	d.Gone = int(n.drain.Status.Progress.Done)
	for _, c := range s.claims[n.name] {
		may := c.m != nil && c.m.drains() && !c.m.Spec.Paused && c.record == nil && c.want == needs && !c.drained
		d.MayGiveWay = d.MayGiveWay && may && n.gaveWay(c.m) < MaxGivesWay
		d.ComesBack = d.ComesBack && c.m != nil && c.m.Spec.Rollout != nil
	}
	return d
}

// refusedBy returns the budgets that refuse the evictions of all remaining pods of a drain, with the start of the last
// refusal. It returns none if pods leave, if something else blocks the drain, or if the status lists not all blockers.
func refusedBy(e *lifecyclev1alpha1.LifecycleEvent) (budgets []string, since time.Time) {
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

// starvedBudgets returns the budgets with unschedulable pods.
func (v *view) starvedBudgets() (all []deadlock.Budget) {
	waiting := map[string][]deadlock.Waiting{}
	for _, u := range v.facts.Unscheduled {
		w := deadlock.Waiting{Since: unschedulableSince(u.Pod), Fits: v.fits(u.Pod)}
		if w.Since.IsZero() {
			continue
		}
		for _, budget := range u.Budgets {
			waiting[budget] = append(waiting[budget], w)
		}
	}
	for name, pods := range waiting {
		if status, known := v.facts.BudgetStatuses[name]; known {
			all = append(all, deadlock.Budget{Name: name, Status: status, Waiting: pods})
		}
	}
	return all
}

// unschedulableSince returns the time since which a pod is unschedulable, or zero.
func unschedulableSince(pod *corev1.Pod) time.Time {
	c := find(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled })
	if c == nil || c.Status != corev1.ConditionFalse || c.Reason != corev1.PodReasonUnschedulable {
		return time.Time{}
	}
	return c.LastTransitionTime.Time
}

// fits returns the nodes out of service on which a pod could run if they were uncordoned, by its node affinity and its
// tolerations. It ignores its other needs, such as resources: a node that might fit counts as fitting.
func (v *view) fits(pod *corev1.Pod) (names []string) {
	affinity := nodeaffinity.GetRequiredNodeAffinity(pod)
	keepsOut := func(t *corev1.Taint) bool { // except the taint of a cordon
		return t.Key != corev1.TaintNodeUnschedulable && (t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute)
	}
	for _, n := range v.nodes {
		if !n.exists() || n.drain == nil && n.back == nil {
			continue
		}
		match, err := affinity.Match(n.Node.Node)
		if _, tainted := schedulinghelpers.FindMatchingUntoleratedTaint(logr.Discard(), n.Spec.Taints, pod.Spec.Tolerations, keepsOut, true); err == nil && match && !tainted {
			names = append(names, n.name)
		}
	}
	return names
}

// resolve reports a deadlock, and lets one of its nodes give way once the status of each of its maintenances has
// reported that.
func (s *selection) resolve(d deadlock.Deadlock, found *deadlocks) {
	report := func(n *node, why cause) {
		found.ofNode[n.name] = why
		for _, c := range s.claims[n.name] {
			if c.m != nil {
				found.of[c.UID] = cause{why.reason, "node " + n.name + ": " + why.message}
			}
		}
	}
	if d.GivesWay == "" {
		why := cause{slipwayv1alpha1.ReasonDeadlock, fmt.Sprintf("the drains of nodes %s wait for each other: pods of PDB %s that could run there "+
			"are unschedulable, and none of these nodes may give way: add nodes for these pods, relax these PDBs, or exclude a node from spec.nodeSelector, so that it returns without its work",
			some(d.Nodes), some(d.Budgets))}
		for _, name := range d.Nodes {
			report(s.byName[name], why)
		}
		return
	}
	n := s.byName[d.GivesWay]
	others := without(slices.Clone(d.Nodes), n.name)
	why := cause{slipwayv1alpha1.ReasonDeadlockHeldBack, fmt.Sprintf("its drain and the drains of %s wait for each other: pods of PDB %s are unschedulable; "+
		"this node gives way: it is uncordoned, and begins again when these drains have ended", some(others), some(d.Budgets))}
	report(n, why)
	if slices.ContainsFunc(s.claims[n.name], func(c claim) bool { return !c.m.reports(n.name, why.reason) }) {
		return
	}
	var behind []string
	for _, name := range others[:min(len(others), maxBehind)] {
		behind = append(behind, string(s.byName[name].drain.UID))
	}
	for _, c := range s.claims[n.name] {
		found.records[n.name] = append(found.records[n.name], Record{
			UID: c.UID, State: RecordHeldBack, Retry: c.m.Spec.Retry, Reason: why.reason, Message: why.message,
			Event: n.drain.UID, Cordon: n.drain.UID, Times: n.gaveWay(c.m) + 1, Behind: strings.Join(behind, ","),
		})
	}
}

// reports reports whether the status of a maintenance has a reason for a node; if its list is full, whether it has the
// reason at all.
func (m *maintenance) reports(node, reason string) bool {
	named := slices.ContainsFunc(m.Status.NodeStatuses, func(s slipwayv1alpha1.MaintenanceNodeStatus) bool {
		return s.Name == node && s.Reason == reason
	})
	c := apimeta.FindStatusCondition(m.Status.Conditions, slipwayv1alpha1.MaintenanceProgressing)
	return named || len(m.Status.NodeStatuses) == maxListed && c != nil && c.Reason == reason
}

// findYielding finds, for nodes that gave way, the nodes whose drains still continue. These drains get the usual time
// before they count as deadlocked again.
func (v *view) findYielding() {
	drains := map[string]string{}
	for _, n := range v.nodes {
		if n.drain != nil {
			drains[string(n.drain.UID)] = n.name
		}
	}
	for _, n := range v.nodes {
		for _, r := range n.Records {
			if r.State != RecordHeldBack {
				continue
			}
			for uid := range strings.SplitSeq(r.Behind, ",") {
				if name, goesOn := drains[uid]; goesOn {
					n.behind = append(n.behind, name)
					v.byName[name].helped = latest(v.byName[name].helped, r.At)
				}
			}
		}
		slices.Sort(n.behind)
		n.behind = slices.Compact(n.behind)
	}
}

// yielding returns the cause for which a node that gave way does not begin.
func (n *node) yielding(m *maintenance) cause {
	r := rawRecord(n.Records, m.UID)
	if r == nil || r.State != RecordHeldBack || len(n.behind) == 0 {
		return cause{}
	}
	const message = "the node gave way in a deadlock, and begins again when the drains of these nodes have ended: "
	return cause{slipwayv1alpha1.ReasonDeadlockHeldBack, message + some(n.behind)}
}

// yields reports whether the drain of the node gives way for a maintenance, which has not joined it since. While any of
// its maintenances is paused, the node keeps its state.
func (v *view) yields(n *node, ref Ref) bool {
	r := rawRecord(n.Records, ref.UID)
	return r != nil && r.State == RecordHeldBack && n.drain != nil && r.Event == n.drain.UID && !ref.Since.After(r.At) && !v.pausedFor(n)
}

// gaveWay counts how often the node gave way for a maintenance since the last raise of its spec.retry.
func (n *node) gaveWay(m *maintenance) int {
	r := rawRecord(n.Records, m.UID)
	if r == nil || r.State != RecordHeldBack || r.Retry < m.Spec.Retry {
		return 0
	}
	return r.Times
}
