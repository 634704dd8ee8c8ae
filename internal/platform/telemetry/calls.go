// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Calls counts calls to drivers. It may be used by several at a time.
type Calls struct {
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	drivers  *vocabulary
}

func newCalls(b *book) *Calls {
	return &Calls{
		total: b.counters("slipway_driver_calls_total",
			"Calls to lifecycle drivers that have ended, by driver, method of the contract and gRPC code.",
			"driver", "method", "code"),
		duration: b.histograms("slipway_driver_call_duration_seconds",
			"How long calls to lifecycle drivers took. A driver may hold its answer to EndLifecycleTransition for 30 s.",
			[]float64{.005, .025, .1, .5, 1, 5, 10, 20, 31, 45}, "driver", "method"),
		drivers: newVocabulary(),
	}
}

// Calls counts the calls to drivers of this process.
func (s *Source) Calls() *Calls { return s.metrics.calls }

// Called counts a call. What the agent itself has given up, to make another one, is not
// counted by it.
func (c *Calls) Called(driver, method, code string, took time.Duration) {
	driver = c.drivers.of(driver)
	c.total.WithLabelValues(driver, method, code).Inc()
	c.duration.WithLabelValues(driver, method).Observe(took.Seconds())
}
