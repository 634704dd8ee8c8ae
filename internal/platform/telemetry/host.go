// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// HostProcess is slipway-host, which holds shutdowns of its machine.
const HostProcess = "slipway-host"

// Host are the metrics of slipway-host.
type Host struct{ delay prometheus.Gauge }

func newHost(b *book) *Host {
	return &Host{b.gauges("slipway_host_delay_seconds",
		"How long logind lets a shutdown of the machine be delayed (InhibitDelayMaxSec), as slipway-host has seen last.").WithLabelValues()}
}

// NewHost registers the metrics of slipway-host.
func NewHost(registerer prometheus.Registerer) (*Host, error) {
	b := &book{}
	h := newHost(b)
	if err := b.register(registerer); err != nil {
		return nil, fmt.Errorf("of slipway-host: %w", err)
	}
	return h, nil
}

// Delay takes in how long logind lets itself be delayed.
func (h *Host) Delay(delay time.Duration) { h.delay.Set(delay.Seconds()) }

// newShutdowns counts shutdowns that are over, by how they ended. It is the controller's.
func newShutdowns(b *book) *prometheus.CounterVec {
	return b.counters("slipway_shutdowns_total",
		"Shutdowns of machines that have booted since, by reason of the Node's condition GracefulNodeShutdownInProgress: whether the node was drained before.",
		"reason")
}

// ShutdownEnded counts a shutdown whose machine has booted again.
func (s *Source) ShutdownEnded(reason string) { s.shutdowns.WithLabelValues(reason).Inc() }
