// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Drains counts what drains of this process do. It may be used by several at a time.
type Drains struct {
	evicted prometheus.Counter
	refused *prometheus.CounterVec
	opened  prometheus.Histogram
	reasons *vocabulary
}

func newDrains() *Drains {
	return &Drains{
		evicted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "slipway_drain_pods_evicted_total",
			Help: "Evictions that the API server accepted.",
		}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slipway_drain_evictions_refused_total",
			Help: "Evictions and deletions that the API server did not accept, by reason.",
		}, []string{"reason"}),
		opened: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "slipway_drain_budget_open_to_eviction_seconds",
			Help:    "How long it took from when a disruption budget was seen to allow a disruption until an eviction under it was accepted.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}),
		reasons: newVocabulary(),
	}
}

// Drains counts what the drains of this process do.
func (s *Source) Drains() *Drains { return s.metrics.drains }

// Evicted counts an eviction that was accepted.
func (d *Drains) Evicted() { d.evicted.Inc() }

// Refused counts an eviction, or a deletion, that was not.
func (d *Drains) Refused(reason string) { d.refused.WithLabelValues(d.reasons.of(reason)).Inc() }

// EvictedAfter measures how long a budget was open before an eviction.
func (d *Drains) EvictedAfter(open time.Duration) { d.opened.Observe(open.Seconds()) }

// Describe is for the registry.
func (d *Drains) Describe(all chan<- *prometheus.Desc) {
	d.evicted.Describe(all)
	d.refused.Describe(all)
	d.opened.Describe(all)
}

// Collect is for the registry.
func (d *Drains) Collect(all chan<- prometheus.Metric) {
	d.evicted.Collect(all)
	d.refused.Collect(all)
	d.opened.Collect(all)
}
