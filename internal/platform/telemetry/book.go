// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Metric says what a metric is.
type Metric struct {
	// Name as it is exposed; those of a histogram have _bucket, _sum and _count behind it.
	Name string
	// Type is counter, gauge or histogram.
	Type string
	// Labels are those of the metric itself: le of histograms is not among them.
	Labels []string
	Help   string
	// From are the processes that expose it.
	From []string
}

// The types of metrics.
const (
	Counter   = "counter"
	Gauge     = "gauge"
	Histogram = "histogram"
)

// book makes metrics, and keeps what they are.
type book struct {
	metrics    []Metric
	collectors []prometheus.Collector
}

func (b *book) enter(kind, name, help string, labels []string) {
	b.metrics = append(b.metrics, Metric{Name: name, Type: kind, Labels: labels, Help: help})
}

func (b *book) counters(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	b.enter(Counter, name, help, labels)
	b.collectors = append(b.collectors, c)
	return c
}

func (b *book) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	b.enter(Gauge, name, help, labels)
	b.collectors = append(b.collectors, g)
	return g
}

func (b *book) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	b.enter(Histogram, name, help, labels)
	b.collectors = append(b.collectors, h)
	return h
}

// computed is a metric of a collector of its own.
func (b *book) computed(kind, name, help string, labels ...string) *prometheus.Desc {
	b.enter(kind, name, help, labels)
	return prometheus.NewDesc(name, help, labels, nil)
}

func (b *book) register(registerer prometheus.Registerer) error {
	var errs []error
	for _, c := range b.collectors {
		errs = append(errs, registerer.Register(c))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	return nil
}

// Metrics are all metrics of all processes, by name.
func Metrics() []Metric {
	const driver = "slipway-drain-driver"
	loop, drains, controller, health, host := &book{}, &book{}, &book{}, &book{}, &book{}
	newMetrics(loop, drains)
	newOverseen(controller)
	newUndertaken(controller)
	newShutdowns(controller)
	newHealth(health)
	newHost(host)
	var all []Metric
	for _, of := range []struct {
		book *book
		from []string
	}{
		{loop, []string{NodeAgent, Controller}},
		{drains, []string{NodeAgent, Controller, driver}},
		{controller, []string{Controller}},
		{health, []string{NodeAgent, Controller, driver, HostProcess}},
		{host, []string{HostProcess}},
	} {
		for _, m := range of.book.metrics {
			m.From = of.from
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })
	return all
}
