// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Drains counts what drains of this process do. It may be used by several at a time.
type Drains struct {
	evicted prometheus.Counter
	refused *prometheus.CounterVec
	opened  prometheus.Observer
	reasons *vocabulary
}

func newDrains(b *book) *Drains {
	return &Drains{
		evicted: b.counters("slipway_drain_pods_evicted_total",
			"Evictions that the API server accepted.").WithLabelValues(),
		refused: b.counters("slipway_drain_evictions_refused_total",
			"Evictions and deletions that the API server did not accept, by reason.", "reason"),
		opened: b.histograms("slipway_drain_budget_open_to_eviction_seconds",
			"How long it took from when a disruption budget was seen to allow a disruption until an eviction under it was accepted.",
			[]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}).WithLabelValues(),
		reasons: newVocabulary(),
	}
}

// NewDrains is for a process that has drains and no [Source]: a driver by itself.
func NewDrains(registerer prometheus.Registerer) (*Drains, error) {
	b := &book{}
	return newDrains(b), b.register(registerer)
}

// Drains counts what the drains of this process do.
func (s *Source) Drains() *Drains { return s.metrics.drains }

// Evicted counts an eviction that was accepted.
func (d *Drains) Evicted() { d.evicted.Inc() }

// Refused counts an eviction, or a deletion, that was not.
func (d *Drains) Refused(reason string) { d.refused.WithLabelValues(d.reasons.of(reason)).Inc() }

// EvictedAfter measures how long a budget was open before an eviction.
func (d *Drains) EvictedAfter(open time.Duration) { d.opened.Observe(open.Seconds()) }
