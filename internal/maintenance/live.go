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
	"github.com/slipway-k8s/slipway/internal/maintenance/drainplan"
)

// standing says what a node is to a maintenance that it is out for.
type standing int

const (
	leaves standing = iota // it needs the node no more, and has not done with it what it wanted
	done                   // it is done with it
	needs                  // it needs it out, as well if something has failed
)

func (p *pass) standingOf(n *node, entry For) standing {
	m := p.byUID[entry.UID]
	switch {
	case p.running(n, entry):
		return needs // whatever else: nobody puts a node back in the middle of a reboot
	case m == nil:
		return leaves
	case !m.works() || !m.selects(n):
		if held, _ := p.completing(n, m, entry); held {
			return needs
		}
		return leaves
	}
	switch r := n.recordOf(m); {
	case p.givesWay(n, entry), p.waitsAgain(n, m):
		return leaves
	case r != nil && r.State == RecordFailed:
		return needs
	case r != nil:
		return done
	case p.cancels(m) && !p.drainedFor(n, m, entry):
		return leaves
	default:
		return needs
	}
}

// drainedFor says whether the node is drained as far as the maintenance wants, or was when
// its work began: what comes later is evicted as well, and stops nothing.
func (p *pass) drainedFor(n *node, m *maintained, entry For) bool {
	if !entry.Worked.IsZero() || entry.Begun || p.jobOf(n, entry) != nil {
		return true
	}
	return claimed(n.drain) && drainplan.Drained(m.plan, n.inPlan())
}

// live is for a node that is out, or about to be: all that it is out for goes one step on,
// and what is then said to its drain is written at once.
func (p *pass) live(n *node) {
	if !p.needed(n) {
		if pending(n.drain) || !p.awaitsLease(n, n.fors) {
			p.release(n)
		}
		return
	}
	changed := n.drain.DeepCopy()
	var fors []For
	opens := true
	for _, entry := range n.fors {
		if p.standingOf(n, entry) == leaves {
			p.leave(n, entry)
			if m := p.byUID[entry.UID]; m != nil && m.Spec.Paused && !m.returns() && !pending(n.drain) {
				fors = append(fors, entry) // it goes on to its return when that is over
				p.at(n, m.UID, slipwayv1alpha1.NodeDraining, reasoned{slipwayv1alpha1.ReasonPaused, "spec.paused is true"}, claimedAt(n.drain))
			}
			continue
		}
		opens = p.step(n, &entry, changed) && opens
		fors = append(fors, entry)
	}
	var joined []*maintained
	for _, entry := range n.begin {
		m := p.byUID[entry.UID]
		joined = append(joined, m)
		opens = opens && !m.asksAt(slipwayv1alpha1.BeforeDrain)
		entry.Since = p.second().Time
		fors = append(fors, entry)
		delete(changed.Annotations, slipwayv1alpha1.WorkDoneAnnotation) // it was not said of this one
		p.at(n, entry.UID, slipwayv1alpha1.NodeDraining, reasoned{}, time.Time{})
	}
	if opens {
		removeGate(changed)
	}
	if pending(n.drain) {
		allow(changed, p.allowed(n, fors))
	}
	p.cordonAgain(n, changed)
	setParameters(changed, p.parameters(n, changed))
	setFors(changed, fors)
	p.change(n.drain, changed)
	p.fastForward(n, joined)
}

// fastForward tells of the maintenances that join a drain that is further than they would
// begin (KEP-4212).
func (p *pass) fastForward(n *node, joined []*maintained) {
	for _, m := range joined {
		if targets := targetsOf(n.drain); m.drains() && drainplan.Exceeds(targets, m.plan) {
			p.do(Tell{About: m.NodeMaintenance, Reason: ReasonFastForwarded, Message: fmt.Sprintf(
				"fast-forwarding %s on node %s: its drain is further already, for other maintenances", m.Name, n.name)})
		}
	}
}

// needed says whether anybody needs the node out: not if all that do have failed before it
// was cordoned.
func (p *pass) needed(n *node) bool {
	if len(n.begin) > 0 {
		return true
	}
	for _, entry := range n.fors {
		m := p.byUID[entry.UID]
		if p.standingOf(n, entry) != needs {
			if m != nil && m.Spec.Paused && !m.returns() && !pending(n.drain) {
				return true // it does not go on to its return
			}
			continue
		}
		if m == nil || n.recordOf(m) == nil || !pending(n.drain) {
			return true
		}
	}
	return false
}

// leave is what is left of a maintenance that needs the node no more, while others do.
func (p *pass) leave(n *node, entry For) {
	m := p.byUID[entry.UID]
	if m == nil {
		return
	}
	r := n.recordOf(m)
	drained := p.drainedFor(n, m, entry)
	if r != nil && r.State == RecordDone || r == nil && drained && m.Spec.Stage == slipwayv1alpha1.StageComplete {
		p.note(n, Record{UID: m.UID, State: RecordReturned, Retry: m.Spec.Retry})
		p.at(n, m.UID, slipwayv1alpha1.NodeReturned, reasoned{}, time.Time{})
	}
}

// step takes a node on for one maintenance. It says whether the drain may begin, as far as
// that one is asked.
func (p *pass) step(n *node, entry *For, changed *lifecyclev1alpha1.LifecycleEvent) (opens bool) {
	m := p.byUID[entry.UID]
	if m == nil {
		return true // its Job is still running
	}
	if p.tryAgain(n, m, entry, changed) {
		p.at(n, m.UID, slipwayv1alpha1.NodeHeld, reasoned{message: "it is tried again"}, time.Time{})
		return false // from where it is, when that is written
	}
	r := n.recordOf(m)
	switch {
	case p.failedPlace(n, m):
		return true
	case r != nil:
		p.at(n, m.UID, slipwayv1alpha1.NodeReturning, reasoned{
			slipwayv1alpha1.ReasonWaitingForOthers, "other maintenances are not done with the node",
		}, r.At)
		return true
	case p.running(n, *entry) && (!m.works() || !m.selects(n)):
		p.at(n, m.UID, slipwayv1alpha1.NodeReturning, reasoned{slipwayv1alpha1.ReasonJobRunning, "the Job on the node is waited for"}, time.Time{})
		return true
	case !m.works():
		p.hooksOpen(n, m, slipwayv1alpha1.BeforeReturn, p.completedSince(m))
		return true
	case pending(n.drain):
		return p.beforeDrain(n, m, *entry)
	case !m.drains():
		p.at(n, m.UID, slipwayv1alpha1.NodeDraining, reasoned{message: "in stage Cordon, no pod leaves"}, claimedAt(n.drain))
		return true
	case !p.drainedFor(n, m, *entry):
		p.draining(n, m, *entry)
		return true
	}
	p.drained(n, m, entry)
	return true
}

// tryAgain has a node that has failed begin anew from where it is, if spec.retry says so. A
// failure that is older counts no more from then on.
func (p *pass) tryAgain(n *node, m *maintained, entry *For, changed *lifecyclev1alpha1.LifecycleEvent) bool {
	raw := rawRecord(n.Records, m.UID)
	if raw == nil || raw.State != RecordFailed || n.recordOf(m) != nil || entry.Retry >= m.Spec.Retry {
		return false
	}
	entry.Retry, entry.Since, entry.Begun, entry.Worked = m.Spec.Retry, p.second().Time, false, time.Time{}
	if !p.awaitsWord(n, m.UID) {
		delete(changed.Annotations, slipwayv1alpha1.WorkDoneAnnotation)
	}
	return true
}

// awaitsWord says whether the word that the work is done is one for another maintenance,
// which has not heard it yet.
func (p *pass) awaitsWord(n *node, but types.UID) bool {
	return slices.ContainsFunc(n.fors, func(entry For) bool {
		m := p.byUID[entry.UID]
		return m != nil && m.UID != but && m.works() && m.Spec.Rollout != nil && m.workType() == slipwayv1alpha1.WorkManual &&
			n.recordOf(m) == nil && entry.Worked.IsZero()
	})
}

// beforeDrain is for a node whose event has not been claimed.
func (p *pass) beforeDrain(n *node, m *maintained, entry For) (opens bool) {
	created := n.drain.CreationTimestamp.Time
	switch {
	case gated(n.drain) && m.Spec.Paused:
		p.at(n, m.UID, slipwayv1alpha1.NodeHeld, reasoned{slipwayv1alpha1.ReasonPaused, "spec.paused is true"}, created)
		return false
	case gated(n.drain):
		if !p.hooksOpen(n, m, slipwayv1alpha1.BeforeDrain, latest(created, entry.Since)) {
			return false
		}
	}
	p.at(n, m.UID, slipwayv1alpha1.NodeHeld, m.notClaimed(n.drain), created)
	return true
}

// notClaimed is what an event says of why it is not claimed.
func notClaimed(e *lifecyclev1alpha1.LifecycleEvent) reasoned {
	for _, kind := range []string{lifecyclev1alpha1.ConditionLeaseHeld, lifecyclev1alpha1.ConditionGuardsPassed, lifecyclev1alpha1.ConditionClaimable} {
		if c := apimeta.FindStatusCondition(e.Status.Conditions, kind); c != nil && c.Status == metav1.ConditionFalse {
			return reasoned{c.Reason, c.Message}
		}
	}
	return reasoned{slipwayv1alpha1.ReasonGated, fmt.Sprintf("LifecycleEvent %s is to be claimed", e.Name)}
}

func removeGate(e *lifecyclev1alpha1.LifecycleEvent) {
	if gated(e) {
		e.Spec.Gates = slices.DeleteFunc(e.Spec.Gates, func(g lifecyclev1alpha1.Gate) bool { return g.Name == slipwayv1alpha1.MaintenanceGate })
	}
}

// draining is for a node whose pods leave.
func (p *pass) draining(n *node, m *maintained, entry For) {
	// One that was drained, and has pods again, begins anew.
	since := latest(latest(claimedAt(n.drain), entry.Since), reachedAt(n.drain))
	if m.Spec.Drain != nil && m.Spec.Drain.Timeout != nil {
		limit := m.Spec.Drain.Timeout.Duration
		at := since.Add(limit)
		p.wakeAt(at)
		if !p.now.Before(at) {
			p.fail(n, m, reasoned{
				slipwayv1alpha1.ReasonDrainTimeout,
				fmt.Sprintf("spec.drain.timeout: the node was not drained within %s%s", limit, held(n.drain)),
			})
		}
	}
	why := reasoned{}
	if message := p.planned.Messages[n.name]; strings.HasPrefix(message, "Waiting") {
		why = reasoned{slipwayv1alpha1.ReasonWaitingForOthers, readable(message)}
	}
	if len(n.drain.Status.Blockers) > 0 {
		b := n.drain.Status.Blockers[0]
		why = reasoned{slipwayv1alpha1.ReasonBlocked, fmt.Sprintf("%s: %s", b.Object, b.Message)}
	}
	if n.deadlock.reason != "" {
		why = n.deadlock
	}
	if lost, is := p.lostLease(n); is && why.reason == "" {
		why = lost
	}
	p.at(n, m.UID, slipwayv1alpha1.NodeDraining, why, since)
}

// held says what holds a drain up, for the end of a message.
func held(e *lifecyclev1alpha1.LifecycleEvent) string {
	if len(e.Status.Blockers) == 0 {
		return ""
	}
	b := e.Status.Blockers[0]
	return fmt.Sprintf("; %s: %s", b.Object, b.Reason)
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
