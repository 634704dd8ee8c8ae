// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"cmp"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// undertaken are the metrics of NodeMaintenances that are not over. There are as many series
// as people who may take nodes out have asked for, and those of what is over go.
type undertaken struct {
	nodes, standing, progress, stuck *prometheus.Desc

	mu           sync.Mutex
	maintenances map[string]undertaking
}

// undertaking is one maintenance, and since when its nodes are where they are, as far as
// this process has seen.
type undertaking struct {
	nodes    slipwayv1alpha1.MaintenanceNodeCounts
	standing string // the reason, or nothing
	pods     int32  // that are still to leave
	moved    time.Time
	stuck    time.Time // since when it should move, and does not; zero: it waits, as it is to
}

func newUndertaken(b *book) *undertaken {
	u := &undertaken{
		nodes: b.computed(Gauge, "slipway_maintenance_nodes",
			"Nodes that a NodeMaintenance selects, by state (waiting, out, returned, failed); absent for those that are over.", "maintenance", "state"),
		standing: b.computed(Gauge, "slipway_maintenance_standing",
			"NodeMaintenances in which nothing moves, by reason of condition Progressing; always 1, and absent for all others.", "maintenance", "reason"),
		progress: b.computed(Gauge, "slipway_maintenance_progress_timestamp_seconds",
			"Unix time when a node of a NodeMaintenance last began, was drained, returned or failed, or a pod of its left, or when the process saw it first; absent for those that are over.",
			"maintenance"),
		stuck: b.computed(Gauge, "slipway_maintenance_stuck_timestamp_seconds",
			"Unix time since when no node of a NodeMaintenance has got on, as of slipway_maintenance_progress_timestamp_seconds, although nothing is known that it is to wait for: "+
				"no reason of slipway_maintenance_standing but MaxUnavailable, and no hook, work of somebody's, stage or other maintenance for its nodes that are out; absent for all others.",
			"maintenance"),
		maintenances: map[string]undertaking{},
	}
	b.collectors = append(b.collectors, u)
	return u
}

// set takes in the status of each maintenance, by name: all that there are.
func (u *undertaken) set(all map[string]slipwayv1alpha1.NodeMaintenanceStatus, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	before := u.maintenances
	u.maintenances = map[string]undertaking{}
	for name, status := range all {
		if meta.IsStatusConditionTrue(status.Conditions, slipwayv1alpha1.MaintenanceCompleted) {
			continue
		}
		after := undertaking{nodes: status.Nodes, moved: now}
		if status.DrainStatus != nil {
			after.pods = status.DrainStatus.PodsPending
		}
		if c := meta.FindStatusCondition(status.Conditions, slipwayv1alpha1.MaintenanceProgressing); c != nil && c.Status == metav1.ConditionFalse {
			after.standing = c.Reason
		}
		was := before[name]
		if was.nodes == after.nodes && was.pods == after.pods && !was.moved.IsZero() {
			after.moved = was.moved
		}
		if isStuck(status, after.standing) {
			after.stuck = laterOf(after.moved, cmp.Or(was.stuck, now))
		}
		u.maintenances[name] = after
	}
}

// Describe is for the registry.
func (u *undertaken) Describe(all chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{u.nodes, u.standing, u.progress, u.stuck} {
		all <- d
	}
}

// Collect is for the registry.
func (u *undertaken) Collect(all chan<- prometheus.Metric) {
	u.mu.Lock()
	defer u.mu.Unlock()
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		all <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	for name, m := range u.maintenances {
		gauge(u.nodes, float64(m.nodes.Waiting), name, "waiting")
		gauge(u.nodes, float64(m.nodes.Out), name, "out")
		gauge(u.nodes, float64(m.nodes.Returned), name, "returned")
		gauge(u.nodes, float64(m.nodes.Failed), name, "failed")
		gauge(u.progress, float64(m.moved.UnixMilli())/1000, name)
		if !m.stuck.IsZero() {
			gauge(u.stuck, float64(m.stuck.UnixMilli())/1000, name)
		}
		if m.standing != "" {
			gauge(u.standing, 1, name, m.standing)
		}
	}
}
