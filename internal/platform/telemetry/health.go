// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// HealthCheck is one of the checks behind /healthz and /readyz.
type HealthCheck struct {
	// Probe is liveness or readiness.
	Probe string
	Name  string
	// Check returns what is the matter. It must be quick.
	Check func() error
}

// health are the metrics of checks, which are made when they are read.
type health struct {
	check  *prometheus.Desc
	checks []HealthCheck
}

func newHealth(b *book) *health {
	h := &health{check: b.computed(Gauge, "slipway_health_check",
		"Whether a check behind /healthz (liveness) or /readyz (readiness) passes (1) or not (0).", "probe", "check")}
	b.collectors = append(b.collectors, h)
	return h
}

// RegisterHealth registers the metrics of the given checks.
func RegisterHealth(registerer prometheus.Registerer, checks []HealthCheck) error {
	b := &book{}
	newHealth(b).checks = checks
	if err := b.register(registerer); err != nil {
		return fmt.Errorf("of health checks: %w", err)
	}
	return nil
}

// Describe is for the registry.
func (h *health) Describe(all chan<- *prometheus.Desc) { all <- h.check }

// Collect is for the registry.
func (h *health) Collect(all chan<- prometheus.Metric) {
	for _, c := range h.checks {
		passes := 1.0
		if c.Check() != nil {
			passes = 0
		}
		all <- prometheus.MustNewConstMetric(h.check, prometheus.GaugeValue, passes, c.Probe, c.Name)
	}
}
