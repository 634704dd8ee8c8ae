// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// standings are the metrics of what stands: they are computed when they are read, so that
// they grow while nothing else happens.
type standings struct {
	transitions, reasons  *vocabulary
	clock                 clock.PassiveClock
	state, blockedSeconds *prometheus.Desc
	claimed, deadline     *prometheus.Desc
	blockedAt             *prometheus.Desc
	progress              *prometheus.Desc

	mu    sync.Mutex
	nodes map[string]*standingNode
	past  map[string]time.Duration // by reason: of what stands no more
}

// standingNode is the event that a node is being worked on for.
type standingNode struct {
	event             types.UID
	transition, state string
	claimed, deadline *metav1.Time
	// done and state have stood since moved, as far as this process has seen.
	done  int32
	moved time.Time
	// blockedAt is, by reason, since when something blocks it, as its driver reports.
	blockedAt map[string]time.Time
	// countedFrom is, by reason, since when that time is not in past yet.
	countedFrom map[string]time.Time
}

func newStandings(b *book, transitions, reasons *vocabulary) *standings {
	s := &standings{
		transitions: transitions, reasons: reasons, clock: clock.RealClock{},
		state: b.computed(Gauge, "slipway_node_state",
			"The state that the LifecycleEvent has reached which the node is being worked on for; always 1, and absent for all other nodes.",
			"node", "transition", "state"),
		claimed: b.computed(Gauge, "slipway_node_claimed_timestamp_seconds",
			"Unix time when the LifecycleEvent was claimed which the node is being worked on for.", "node"),
		deadline: b.computed(Gauge, "slipway_node_deadline_timestamp_seconds",
			"Unix time by which the LifecycleEvent must have ended which the node is being worked on for; absent if it may take any time.", "node"),
		blockedAt: b.computed(Gauge, "slipway_node_blocked_timestamp_seconds",
			"Unix time since when something of that reason has been holding up the LifecycleEvent which the node is being worked on for.",
			"node", "reason"),
		progress: b.computed(Gauge, "slipway_node_progress_timestamp_seconds",
			"Unix time when the LifecycleEvent last got on which the node is being worked on for: when its state or what is done of it changed, or when the process saw it first.",
			"node"),
		blockedSeconds: b.computed(Counter, "slipway_drain_blocked_seconds_total",
			"Seconds during which something of that reason held up a LifecycleEvent, added up over events; also while it still does.",
			"reason"),
		nodes: map[string]*standingNode{}, past: map[string]time.Duration{},
	}
	b.collectors = append(b.collectors, s)
	return s
}

// set takes in how the events of a node stand at the given time.
func (s *standings) set(node string, events []*lifecyclev1alpha1.LifecycleEvent, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.nodes[node]
	after := s.of(events, now)
	if before != nil {
		if after != nil && after.isWhere(before) {
			after.moved = before.moved
		}
		for reason, since := range before.countedFrom {
			if after != nil && after.event == before.event && !after.countedFrom[reason].IsZero() {
				after.countedFrom[reason] = since
				continue
			}
			s.past[reason] += now.Sub(since)
		}
	}
	if after == nil {
		delete(s.nodes, node)
		return
	}
	s.nodes[node] = after
}

// of is nil where no event is being worked on. The lock is held.
func (s *standings) of(events []*lifecyclev1alpha1.LifecycleEvent, now time.Time) *standingNode {
	for _, e := range events {
		if e.Status.ClaimStatus != lifecyclev1alpha1.Claimed {
			continue
		}
		n := &standingNode{
			event: e.UID, transition: s.transitions.of(e.Spec.TransitionName), state: e.Status.State,
			deadline: e.Status.SLA, moved: now, blockedAt: map[string]time.Time{}, countedFrom: map[string]time.Time{},
		}
		if c := meta.FindStatusCondition(e.Status.Conditions, lifecyclev1alpha1.ConditionClaimable); c != nil {
			n.claimed = &c.LastTransitionTime
		}
		if n.state == "" {
			n.state = "claimed"
		}
		if p := e.Status.Progress; p != nil {
			n.done = p.Done
		}
		for _, b := range e.Status.Blockers {
			reason := s.reasons.of(b.Reason)
			n.countedFrom[reason] = now
			n.holds(reason, b.Since)
		}
		return n
	}
	return nil
}

// isWhere tells whether it has not got on since it was like before.
func (n *standingNode) isWhere(before *standingNode) bool {
	return n.event == before.event && n.state == before.state && n.done == before.done
}

// holds notes since when something holds up the event: the longest counts.
func (n *standingNode) holds(reason string, since *metav1.Time) {
	if since == nil {
		return
	}
	if first, has := n.blockedAt[reason]; !has || since.Time.Before(first) {
		n.blockedAt[reason] = since.Time
	}
}

// Describe is for the registry.
func (s *standings) Describe(all chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{s.state, s.claimed, s.deadline, s.blockedAt, s.progress, s.blockedSeconds} {
		all <- d
	}
}

// Collect is for the registry.
func (s *standings) Collect(all chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	total := maps.Clone(s.past)
	for name, n := range s.nodes {
		all <- prometheus.MustNewConstMetric(s.state, prometheus.GaugeValue, 1, name, n.transition, n.state)
		n.times(s, name, all)
		for reason, since := range n.countedFrom {
			total[reason] += max(0, now.Sub(since))
		}
	}
	for reason, d := range total {
		all <- prometheus.MustNewConstMetric(s.blockedSeconds, prometheus.CounterValue, d.Seconds(), reason)
	}
}

// times are the metrics of when.
func (n *standingNode) times(s *standings, name string, all chan<- prometheus.Metric) {
	at := func(desc *prometheus.Desc, t time.Time, labels ...string) {
		all <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(t.UnixMilli())/1000, labels...)
	}
	at(s.progress, n.moved, name)
	if n.claimed != nil {
		at(s.claimed, n.claimed.Time, name)
	}
	if n.deadline != nil {
		at(s.deadline, n.deadline.Time, name)
	}
	for reason, since := range n.blockedAt {
		at(s.blockedAt, since, name, reason)
	}
}
