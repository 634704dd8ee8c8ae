// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// described is what a registry exposes of a metric.
func described(family *dto.MetricFamily) Metric {
	m := Metric{Name: family.GetName(), Help: family.GetHelp(), Type: strings.ToLower(family.GetType().String())}
	for _, l := range family.GetMetric()[0].GetLabel() {
		m.Labels = append(m.Labels, l.GetName())
	}
	slices.Sort(m.Labels)
	return m
}

func TestTheReferenceHasWhatIsExposed(t *testing.T) {
	families, err := used(t).Gather()
	if err != nil {
		t.Fatal(err)
	}
	var exposed, said []Metric
	for _, family := range families {
		exposed = append(exposed, described(family))
	}
	for _, m := range Metrics() {
		if len(m.From) == 0 {
			t.Errorf("%s is of no process", m.Name)
		}
		m.From, m.Labels = nil, slices.Sorted(slices.Values(m.Labels))
		said = append(said, m)
	}
	if diff := cmp.Diff(exposed, said); diff != "" {
		t.Errorf("(-exposed +said):\n%s", diff)
	}
}

func TestADriverByItselfHasTheMetricsOfItsDrains(t *testing.T) {
	registry := prometheus.NewRegistry()
	drains, err := NewDrains(registry)
	if err != nil {
		t.Fatal(err)
	}
	drains.Evicted()
	drains.Refused("BudgetExhausted")
	want := "drain_evictions_refused_total{reason=BudgetExhausted} 1\ndrain_pods_evicted_total{} 1"
	if diff := cmp.Diff(want, exposed(t, registry, "drain_evictions_refused_total", "drain_pods_evicted_total")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := NewDrains(registry); err == nil {
		t.Error("they are registered twice")
	}
}

func TestShutdownsOfMachinesAreCounted(t *testing.T) {
	want := "host_delay_seconds{} 300\nshutdowns_total{reason=ShutdownFinished} 1"
	registry := used(t)
	if diff := cmp.Diff(want, exposed(t, registry, "host_delay_seconds", "shutdowns_total")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := NewHost(registry); err == nil {
		t.Error("those of slipway-host are registered twice")
	}
}
