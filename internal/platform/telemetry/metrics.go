// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// The phases of which the duration is measured.
const (
	phaseWaiting = "waiting" // from its creation to its claim
	phaseWorking = "working" // from its claim to its end
)

// metrics are those of one process. The values of labels are names of transitions and
// drivers, codes, and the nodes that are being worked on; what could be invented by
// anybody is bounded.
type metrics struct {
	claimed, finished, overridden *prometheus.CounterVec
	duration                      *prometheus.HistogramVec
	standing                      *standings
	drains                        *Drains
	calls                         *Calls
	home                          *prometheus.GaugeVec

	transitions, reasons *vocabulary
}

// newMetrics enters those of the drains into a book of their own: who drains and does
// nothing else has them as well.
func newMetrics(b, drains *book) *metrics {
	m := &metrics{
		claimed: b.counters("slipway_lifecycle_events_claimed_total",
			"LifecycleEvents that were claimed, by transition.", "transition"),
		finished: b.counters("slipway_lifecycle_events_finished_total",
			"LifecycleEvents that have ended, by transition, phase and reason of condition Finished.",
			"transition", "phase", "reason"),
		overridden: b.counters("slipway_lifecycle_events_budgets_overridden_total",
			"Reports of LifecycleEvents for which pods were removed although their disruption budgets did not allow it, by transition.",
			"transition"),
		duration: b.histograms("slipway_lifecycle_event_phase_duration_seconds",
			"How long LifecycleEvents were waiting (from creation to claim) and working (from claim to end), by transition.",
			[]float64{1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 2 * 3600, 4 * 3600, 12 * 3600, 24 * 3600}, "transition", "phase"),
		home: b.gauges("slipway_api_home_info",
			"The API group in which the process reads LifecycleEvents; always 1.", "group"),
		drains: newDrains(drains), calls: newCalls(b),
		transitions: newVocabulary(), reasons: newVocabulary(),
	}
	m.standing = newStandings(b, m.transitions, m.reasons)
	return m
}

// wrote counts what the writing of a status means.
func (m *metrics) wrote(event *lifecyclev1alpha1.LifecycleEvent, after lifecyclev1alpha1.LifecycleEventStatus, now time.Time) {
	transition := m.transitionOf(event, after)
	before := event.Status.ClaimStatus
	if after.ClaimStatus == lifecyclev1alpha1.Claimed && before != lifecyclev1alpha1.Claimed {
		m.claimed.WithLabelValues(transition).Inc()
		m.took(transition, phaseWaiting, event.CreationTimestamp, now)
	}
	if overridden(event, after) != nil {
		m.overridden.WithLabelValues(transition).Inc()
	}
	if !after.ClaimStatus.Terminal() || before.Terminal() {
		return
	}
	reason, _ := outcome(after)
	m.finished.WithLabelValues(transition, string(after.ClaimStatus), m.reasons.of(reason)).Inc()
	if claim := meta.FindStatusCondition(event.Status.Conditions, lifecyclev1alpha1.ConditionClaimable); claim != nil && before == lifecyclev1alpha1.Claimed {
		m.took(transition, phaseWorking, claim.LastTransitionTime, now)
	}
}

func (m *metrics) took(transition, phase string, since metav1.Time, now time.Time) {
	m.duration.WithLabelValues(transition, phase).Observe(max(0, now.Sub(since.Time).Seconds()))
}

// transitionOf is the label. Anybody can create events for transitions that do not exist,
// which are never claimed.
func (m *metrics) transitionOf(event *lifecyclev1alpha1.LifecycleEvent, after lifecyclev1alpha1.LifecycleEventStatus) string {
	if after.ClaimedBy == nil {
		return other
	}
	return m.transitions.of(event.Spec.TransitionName)
}

// stands takes in how the events of a node stand.
func (m *metrics) stands(node string, events []*lifecyclev1alpha1.LifecycleEvent, now time.Time) {
	m.standing.set(node, events, now)
}
