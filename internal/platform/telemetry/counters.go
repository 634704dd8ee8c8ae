// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// The phases whose duration is measured.
const (
	phaseWaiting = "waiting" // from the creation to the claim
	phaseWorking = "working" // from the claim to the end
)

// eventMetrics count the ends and other changes of LifecycleEvents.
type eventMetrics struct {
	claimed, finished, overridden, breakGlass *prometheus.CounterVec
	duration                                  *prometheus.HistogramVec
	transitions, reasons                      vocabulary
}

func newEventMetrics(r *registration) *eventMetrics {
	return &eventMetrics{
		claimed:    r.counters("slipway_lifecycle_events_claimed_total"),
		finished:   r.counters("slipway_lifecycle_events_finished_total"),
		overridden: r.counters("slipway_lifecycle_events_budgets_overridden_total"),
		breakGlass: r.counters("slipway_lifecycle_events_break_glass_total"),
		duration: r.histograms("slipway_lifecycle_event_phase_duration_seconds",
			1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 2*3600, 4*3600, 12*3600, 24*3600),
	}
}

// wrote counts the change that a new status means.
func (m *eventMetrics) wrote(event *lifecyclev1alpha1.LifecycleEvent, after lifecyclev1alpha1.LifecycleEventStatus, now time.Time) {
	// Events for transitions that do not exist are never claimed.
	transition := other
	if after.ClaimedBy != nil {
		transition = m.transitions.of(event.Spec.TransitionName)
	}
	took := func(phase string, since metav1.Time) {
		m.duration.WithLabelValues(transition, phase).Observe(max(0, now.Sub(since.Time).Seconds()))
	}
	before := event.Status.ClaimStatus
	if after.ClaimStatus == lifecyclev1alpha1.Claimed && before != lifecyclev1alpha1.Claimed {
		m.claimed.WithLabelValues(transition).Inc()
		took(phaseWaiting, event.CreationTimestamp)
	}
	if breaksGlass(event, after) {
		m.breakGlass.WithLabelValues(transition).Inc()
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
		took(phaseWorking, claim.LastTransitionTime)
	}
}

// Drains counts the evictions of a process. Several goroutines may use it.
type Drains struct {
	evicted prometheus.Counter
	refused *prometheus.CounterVec
	opened  prometheus.Observer
	reasons vocabulary
}

func newDrains(r *registration) *Drains {
	return &Drains{
		evicted: r.counters("slipway_drain_pods_evicted_total").WithLabelValues(),
		refused: r.counters("slipway_drain_evictions_refused_total"),
		opened: r.histograms("slipway_drain_budget_open_to_eviction_seconds",
			.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60).WithLabelValues(),
	}
}

// NewDrains is for a process with drains and without a [Source]: a driver that runs alone.
func NewDrains(registerer prometheus.Registerer) (*Drains, error) {
	r := &registration{to: registerer}
	return newDrains(r), r.err()
}

// Evicted counts an accepted eviction.
func (d *Drains) Evicted() { d.evicted.Inc() }

// Refused counts a refused eviction or deletion.
func (d *Drains) Refused(reason string) { d.refused.WithLabelValues(d.reasons.of(reason)).Inc() }

// EvictedAfter measures the time from the opening of a budget to the eviction.
func (d *Drains) EvictedAfter(open time.Duration) { d.opened.Observe(open.Seconds()) }

// Calls counts calls to drivers. Several goroutines may use it.
type Calls struct {
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	drivers  vocabulary
}

func newCalls(r *registration) *Calls {
	return &Calls{
		total:    r.counters("slipway_driver_calls_total"),
		duration: r.histograms("slipway_driver_call_duration_seconds", .005, .025, .1, .5, 1, 5, 10, 20, 31, 45),
	}
}

// Called counts a call, except a call that the agent has ended itself to make another one.
func (c *Calls) Called(driver, method, code string, took time.Duration) {
	driver = c.drivers.of(driver)
	c.total.WithLabelValues(driver, method, code).Inc()
	c.duration.WithLabelValues(driver, method).Observe(took.Seconds())
}

// Host has the metrics of slipway-host.
type Host struct{ delay prometheus.Gauge }

// NewHost registers the metrics of slipway-host.
func NewHost(registerer prometheus.Registerer) (*Host, error) {
	r := &registration{to: registerer}
	return &Host{r.gauges("slipway_host_delay_seconds").WithLabelValues()}, r.err()
}

// Delay records the maximum delay of logind.
func (h *Host) Delay(delay time.Duration) { h.delay.Set(delay.Seconds()) }

// HealthCheck is a check of /healthz or /readyz.
type HealthCheck struct {
	// Probe is liveness or readiness.
	Probe string
	Name  string
	// Check returns the problem. It must be quick.
	Check func() error
}

// RegisterHealth registers the metrics of the given checks.
func RegisterHealth(registerer prometheus.Registerer, checks []HealthCheck) error {
	r := &registration{to: registerer}
	r.computed(func(expose emit) {
		for _, c := range checks {
			passes := 1.0
			if c.Check() != nil {
				passes = 0
			}
			expose("slipway_health_check", passes, c.Probe, c.Name)
		}
	})
	return r.err()
}
