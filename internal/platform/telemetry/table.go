// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Metric describes a metric.
type Metric struct {
	// Name as it is exposed. A histogram has the suffixes _bucket, _sum and _count.
	Name string
	// Type is counter, gauge or histogram.
	Type string
	// Labels are without le of histograms.
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

// The processes with metrics. The first two are also the sources of core Events.
const (
	NodeAgent   = "slipway-node-agent"
	Controller  = "slipway-controller"
	drainDriver = "slipway-drain-driver"
	hostProcess = "slipway-host"
)

var (
	loops      = []string{NodeAgent, Controller}
	drainers   = []string{NodeAgent, Controller, drainDriver}
	everywhere = []string{NodeAgent, Controller, drainDriver, hostProcess}
	controller = []string{Controller}
	host       = []string{hostProcess}
)

func metric(name, kind string, from []string, help string, labels ...string) Metric {
	return Metric{Name: name, Type: kind, Labels: labels, Help: help, From: from}
}

// table has all metrics by name.
var table = []Metric{
	metric("slipway_api_home_info", Gauge, loops,
		"The API group from which the process reads LifecycleEvents; always 1.", "group"),
	metric("slipway_controller_leading", Gauge, controller,
		"1 if this controller leads, 0 if it stands by."),
	metric("slipway_drain_blocked_seconds_total", Counter, loops,
		"Seconds during which a blocker with that reason blocked a LifecycleEvent, summed over events, including blockers that still exist.", "reason"),
	metric("slipway_drain_budget_open_to_eviction_seconds", Histogram, drainers,
		"Time from the moment at which a PodDisruptionBudget was seen to allow a disruption until an eviction under it was accepted."),
	metric("slipway_drain_evictions_refused_total", Counter, drainers,
		"Evictions and deletions that the API server did not accept, by reason of the blocker: BudgetExhausted for a PodDisruptionBudget, "+
			"EvictionTimedOut for a conflict on one. A drain sends no eviction that it expects a budget to refuse: see slipway_drain_blocked_seconds_total.", "reason"),
	metric("slipway_drain_pods_evicted_total", Counter, drainers,
		"Evictions that the API server accepted."),
	metric("slipway_driver_call_duration_seconds", Histogram, loops,
		"Duration of calls to lifecycle drivers. A driver may delay its answer to EndLifecycleTransition by 30 s.", "driver", "method"),
	metric("slipway_driver_calls_total", Counter, loops,
		"Finished calls to lifecycle drivers, by driver, method of the contract and gRPC code.", "driver", "method", "code"),
	metric("slipway_evictions_left_to_kubernetes_total", Counter, controller,
		"Decisions that left an Eviction of KEP-4563 to Kubernetes' own controller, because that seems to work on it."),
	metric("slipway_health_check", Gauge, everywhere,
		"1 if a check of /healthz (liveness) or /readyz (readiness) passes, 0 if it fails.", "probe", "check"),
	metric("slipway_host_delay_seconds", Gauge, host,
		"The maximum time for which logind delays a shutdown of the machine (InhibitDelayMaxSec), as slipway-host last read it."),
	metric("slipway_lifecycle_event_phase_duration_seconds", Histogram, loops,
		"Time that LifecycleEvents spent in phase waiting (from creation to claim) and working (from claim to end), by transition.", "transition", "phase"),
	metric("slipway_lifecycle_events_break_glass_total", Counter, loops,
		"Claimed LifecycleEvents that pass holds, budgets, guards, leases and claims in an emergency, by transition.", "transition"),
	metric("slipway_lifecycle_events_budgets_overridden_total", Counter, loops,
		"Reports of LifecycleEvents for which pods were removed although their PodDisruptionBudgets did not allow it, by transition.", "transition"),
	metric("slipway_lifecycle_events_claimed_total", Counter, loops,
		"LifecycleEvents that were claimed, by transition.", "transition"),
	metric("slipway_lifecycle_events_finished_total", Counter, loops,
		"LifecycleEvents that have ended, by transition, phase and reason of condition Finished.", "transition", "phase", "reason"),
	metric("slipway_lifecycle_events_held_back", Gauge, controller,
		"LifecycleEvents at the gate of the guards, by reason of condition GuardsPassed: a guard, a hold, or a NodeAvailabilityBudget.", "reason"),
	metric("slipway_lifecycle_events_pending", Gauge, controller,
		"Unclaimed LifecycleEvents, by reason of condition Claimable; "+unreported+" if they have no such condition yet.", "reason"),
	metric("slipway_maintenance_nodes", Gauge, controller,
		"Nodes that an unfinished NodeMaintenance selects, by state (waiting, out, returned, failed).", "maintenance", "state"),
	metric("slipway_maintenance_progress_timestamp_seconds", Gauge, controller,
		"Unix time at which a node of an unfinished NodeMaintenance last started, was drained, returned or failed, or lost a pod, or at which the process first saw it.", "maintenance"),
	metric("slipway_maintenance_standing", Gauge, controller,
		"1 for NodeMaintenances that make no progress, by reason of condition Progressing; absent for all other NodeMaintenances.", "maintenance", "reason"),
	metric("slipway_maintenance_stuck_timestamp_seconds", Gauge, controller,
		"Unix time since which an unfinished NodeMaintenance makes no progress without a known cause: its only reason in slipway_maintenance_standing may be MaxUnavailable, "+
			"and its nodes wait for no hook, external work, stage or other maintenance; absent for all other NodeMaintenances.", "maintenance"),
	metric("slipway_node_blocked_timestamp_seconds", Gauge, loops,
		"Unix time since which a blocker with that reason blocks the LifecycleEvent at work on the node.", "node", "reason"),
	metric("slipway_node_claimed_timestamp_seconds", Gauge, loops,
		"Unix time at which the LifecycleEvent at work on the node was claimed.", "node"),
	metric("slipway_node_deadline_timestamp_seconds", Gauge, loops,
		"Unix time by which the LifecycleEvent at work on the node must end; absent without a deadline.", "node"),
	metric("slipway_node_held_until_timestamp_seconds", Gauge, controller,
		"Unix time by which an actor that holds the node expects to return it, the earliest if there are several; absent if no actor has named a time.", "node"),
	metric("slipway_node_progress_timestamp_seconds", Gauge, loops,
		"Unix time at which the state or progress of the LifecycleEvent at work on the node last changed, or at which the process first saw it.", "node"),
	metric("slipway_node_stalled", Gauge, controller,
		"1 for nodes with a claimed LifecycleEvent but no working agent (condition Stalled), by reason; absent for all other nodes.", "node", "reason"),
	metric("slipway_node_state", Gauge, loops,
		"1 for the state of the LifecycleEvent at work on the node; absent for all other nodes.", "node", "transition", "state"),
	metric("slipway_shutdowns_total", Counter, controller,
		"Shutdowns of machines that have booted since, by reason of the Node's condition GracefulNodeShutdownInProgress: drained before, or not.", "reason"),
}

// Metrics returns all metrics of all processes, by name.
func Metrics() []Metric { return slices.Clone(table) }

func metricOf(name string) Metric {
	i := slices.IndexFunc(table, func(m Metric) bool { return m.Name == name })
	return table[i]
}

// registration registers metrics of the table.
type registration struct {
	to   prometheus.Registerer
	errs []error
}

func (r *registration) err() error {
	if err := errors.Join(r.errs...); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	return nil
}

func register[C prometheus.Collector](r *registration, c C) C {
	r.errs = append(r.errs, r.to.Register(c))
	return c
}

func (r *registration) counters(name string) *prometheus.CounterVec {
	m := metricOf(name)
	return register(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: m.Help}, m.Labels))
}

func (r *registration) gauges(name string) *prometheus.GaugeVec {
	m := metricOf(name)
	return register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: m.Help}, m.Labels))
}

func (r *registration) histograms(name string, buckets ...float64) *prometheus.HistogramVec {
	m := metricOf(name)
	return register(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: m.Help, Buckets: buckets}, m.Labels))
}

// emit exposes a value of a metric.
type emit func(name string, value float64, labels ...string)

// computed registers metrics whose values are computed at each read.
func (r *registration) computed(collect func(emit)) {
	descs := map[string]*prometheus.Desc{}
	for _, m := range table {
		descs[m.Name] = prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)
	}
	register(r, prometheus.CollectorFunc(func(to chan<- prometheus.Metric) {
		collect(func(name string, value float64, labels ...string) {
			kind := prometheus.GaugeValue
			if strings.HasSuffix(name, "_total") {
				kind = prometheus.CounterValue
			}
			to <- prometheus.MustNewConstMetric(descs[name], kind, value, labels...)
		})
	}))
}

const (
	// other replaces a label value beyond the limit.
	other = "other"
	// maxWords limits the values of a label in one process.
	maxWords = 64
)

// vocabulary has the first values of a label that third parties choose. They cannot fill the memory of the process.
type vocabulary struct {
	mu    sync.Mutex
	words map[string]bool
}

// of returns the word, or [other] beyond the limit.
func (v *vocabulary) of(word string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.words[word] && len(v.words) >= maxWords {
		return other
	}
	if v.words == nil {
		v.words = map[string]bool{}
	}
	v.words[word] = true
	return word
}
