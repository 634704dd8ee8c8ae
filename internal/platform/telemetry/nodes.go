// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// nodeMetrics are the metrics of the nodes at work. They are computed at each read, so that times grow between
// passes.
type nodeMetrics struct {
	transitions, reasons vocabulary
	clock                clock.PassiveClock

	mu    sync.Mutex
	nodes map[string]nodeStatus
	past  map[string]time.Duration // by reason: the time of blockers that no longer exist
}

// nodeStatus is the status of a node at work.
type nodeStatus struct {
	event *lifecyclev1alpha1.LifecycleEvent // the claimed event; nil if there is none
	moved time.Time                         // the last change of the event's state and progress that this process saw
	// blocked has, by reason, the time from which on the block is not in past yet.
	blocked map[string]time.Time
}

func newNodeMetrics(r *registration) *nodeMetrics {
	n := &nodeMetrics{clock: clock.RealClock{}, nodes: map[string]nodeStatus{}, past: map[string]time.Duration{}}
	r.computed(n.collect)
	return n
}

// set records the events of a node.
func (m *nodeMetrics) set(node string, all []*lifecyclev1alpha1.LifecycleEvent, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, after := m.nodes[node], m.statusOf(all, now)
	same := before.event != nil && after.event != nil && before.event.UID == after.event.UID
	if same && before.event.Status.State == after.event.Status.State && done(before.event) == done(after.event) {
		after.moved = before.moved
	}
	for reason, since := range before.blocked {
		if _, still := after.blocked[reason]; same && still {
			after.blocked[reason] = since
			continue
		}
		m.past[reason] += now.Sub(since)
	}
	m.nodes[node] = after
	if after.event == nil {
		delete(m.nodes, node)
	}
}

func (m *nodeMetrics) statusOf(all []*lifecyclev1alpha1.LifecycleEvent, now time.Time) nodeStatus {
	i := slices.IndexFunc(all, func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		return e.Status.ClaimStatus == lifecyclev1alpha1.Claimed
	})
	if i < 0 {
		return nodeStatus{}
	}
	n := nodeStatus{event: all[i], moved: now, blocked: map[string]time.Time{}}
	for _, b := range all[i].Status.Blockers {
		n.blocked[m.reasons.of(b.Reason)] = now
	}
	return n
}

func done(e *lifecyclev1alpha1.LifecycleEvent) int32 {
	if e.Status.Progress == nil {
		return 0
	}
	return e.Status.Progress.Done
}

func (m *nodeMetrics) collect(expose emit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, blocked := m.clock.Now(), maps.Clone(m.past)
	for name, n := range m.nodes {
		status := n.event.Status
		expose("slipway_node_state", 1, name, m.transitions.of(n.event.Spec.TransitionName), cmp.Or(status.State, "claimed"))
		expose("slipway_node_progress_timestamp_seconds", unix(n.moved), name)
		if c := meta.FindStatusCondition(status.Conditions, lifecyclev1alpha1.ConditionClaimable); c != nil {
			expose("slipway_node_claimed_timestamp_seconds", unix(c.LastTransitionTime.Time), name)
		}
		if status.SLA != nil {
			expose("slipway_node_deadline_timestamp_seconds", unix(status.SLA.Time), name)
		}
		for reason, since := range m.firstOf(status.Blockers) {
			expose("slipway_node_blocked_timestamp_seconds", unix(since), name, reason)
		}
		for reason, since := range n.blocked {
			blocked[reason] += max(0, now.Sub(since))
		}
	}
	for reason, d := range blocked {
		expose("slipway_drain_blocked_seconds_total", d.Seconds(), reason)
	}
}

// firstOf returns the time of the oldest blocker of each reason, as the driver reports it.
func (m *nodeMetrics) firstOf(blockers []lifecyclev1alpha1.Blocker) map[string]time.Time {
	first := map[string]time.Time{}
	for _, b := range blockers {
		if b.Since == nil {
			continue
		}
		reason := m.reasons.of(b.Reason)
		if since, found := first[reason]; !found || b.Since.Time.Before(since) {
			first[reason] = b.Since.Time
		}
	}
	return first
}

func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// unreported is the reason of an event without a condition Claimable, as kubectl slipway explain names it.
const unreported = "NotNoticed"

// fleetMetrics are the metrics of events without a working agent, and of holds. Only the controller has them.
type fleetMetrics struct {
	reasons vocabulary

	mu    sync.Mutex
	nodes map[string]nodeReport // only nodes with something to report
}

type nodeReport struct {
	stalled string         // the reason, if the node is stalled
	pending map[string]int // unclaimed events, by the reason
	held    map[string]int // events at the gate of the guards, by the reason
	until   time.Time      // the earliest time at which a hold is expected to end
}

func newFleetMetrics(r *registration) *fleetMetrics {
	f := &fleetMetrics{nodes: map[string]nodeReport{}}
	r.computed(f.collect)
	return f
}

// set records all events of a node, and its holds.
func (f *fleetMetrics) set(node string, all []*lifecyclev1alpha1.LifecycleEvent, holds []*slipwayv1alpha1.NodeHold) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := nodeReport{pending: map[string]int{}, held: map[string]int{}}
	for _, e := range all {
		stalled := meta.FindStatusCondition(e.Status.Conditions, lifecyclev1alpha1.ConditionStalled)
		switch {
		case e.Status.ClaimStatus.Terminal():
		case e.Status.ClaimStatus != lifecyclev1alpha1.Claimed:
			n.pending[f.pendingReason(e)]++
			if c := meta.FindStatusCondition(e.Status.Conditions, lifecyclev1alpha1.ConditionGuardsPassed); c != nil && c.Status == metav1.ConditionFalse {
				n.held[f.reasons.of(c.Reason)]++
			}
		case stalled != nil && stalled.Status == metav1.ConditionTrue:
			n.stalled = f.reasons.of(stalled.Reason)
		}
	}
	for _, h := range holds {
		if until := h.Spec.Until; until != nil && (n.until.IsZero() || until.Time.Before(n.until)) {
			n.until = until.Time
		}
	}
	f.nodes[node] = n
	if n.stalled == "" && len(n.pending) == 0 && n.until.IsZero() {
		delete(f.nodes, node)
	}
}

func (f *fleetMetrics) pendingReason(e *lifecyclev1alpha1.LifecycleEvent) string {
	c := meta.FindStatusCondition(e.Status.Conditions, lifecyclev1alpha1.ConditionClaimable)
	if c == nil || c.Status != metav1.ConditionFalse {
		return unreported
	}
	return f.reasons.of(c.Reason)
}

func (f *fleetMetrics) collect(expose emit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	pending, held := map[string]int{}, map[string]int{}
	for name, n := range f.nodes {
		if n.stalled != "" {
			expose("slipway_node_stalled", 1, name, n.stalled)
		}
		if !n.until.IsZero() {
			expose("slipway_node_held_until_timestamp_seconds", unix(n.until), name)
		}
		for reason, count := range n.pending {
			pending[reason] += count
		}
		for reason, count := range n.held {
			held[reason] += count
		}
	}
	for reason, count := range held {
		expose("slipway_lifecycle_events_held_back", float64(count), reason)
	}
	for reason, count := range pending {
		expose("slipway_lifecycle_events_pending", float64(count), reason)
	}
}
