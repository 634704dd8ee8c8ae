// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// standings are the metrics of what stands: they are computed when they are read, so that
// they grow while nothing else happens.
type standings struct {
	transitions, reasons *vocabulary
	clock                clock.PassiveClock
	state, blocked       *prometheus.Desc

	mu    sync.Mutex
	nodes map[string]*standingNode
	past  map[string]time.Duration // by reason: of what stands no more
}

// standingNode is the event that a node is being worked on for.
type standingNode struct {
	event             types.UID
	transition, state string
	// blockedSince: each reason that something blocks it for, and since when that is not
	// in past.
	blockedSince map[string]time.Time
}

func newStandings(transitions, reasons *vocabulary) *standings {
	return &standings{
		transitions: transitions, reasons: reasons, clock: clock.RealClock{},
		state: prometheus.NewDesc("slipway_node_state",
			"The state that the LifecycleEvent has reached which the node is being worked on for; always 1, and absent for all other nodes.",
			[]string{"node", "transition", "state"}, nil),
		blocked: prometheus.NewDesc("slipway_drain_blocked_seconds_total",
			"Seconds during which something of that reason held up a LifecycleEvent, added up over events; also while it still does.",
			[]string{"reason"}, nil),
		nodes: map[string]*standingNode{}, past: map[string]time.Duration{},
	}
}

// set takes in how the events of a node stand at the given time.
func (s *standings) set(node string, events []*lifecyclev1alpha1.LifecycleEvent, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.nodes[node]
	after := s.of(events, now)
	if before != nil {
		for reason, since := range before.blockedSince {
			if after != nil && after.event == before.event && !after.blockedSince[reason].IsZero() {
				after.blockedSince[reason] = since
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
			blockedSince: map[string]time.Time{},
		}
		if n.state == "" {
			n.state = "claimed"
		}
		for _, b := range e.Status.Blockers {
			n.blockedSince[s.reasons.of(b.Reason)] = now
		}
		return n
	}
	return nil
}

// Describe is for the registry.
func (s *standings) Describe(all chan<- *prometheus.Desc) {
	all <- s.state
	all <- s.blocked
}

// Collect is for the registry.
func (s *standings) Collect(all chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	total := maps.Clone(s.past)
	for name, n := range s.nodes {
		all <- prometheus.MustNewConstMetric(s.state, prometheus.GaugeValue, 1, name, n.transition, n.state)
		for reason, since := range n.blockedSince {
			total[reason] += max(0, now.Sub(since))
		}
	}
	for reason, d := range total {
		all <- prometheus.MustNewConstMetric(s.blocked, prometheus.CounterValue, d.Seconds(), reason)
	}
}
