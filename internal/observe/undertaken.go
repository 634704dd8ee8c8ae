// SPDX-License-Identifier: Apache-2.0

package observe

import (
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
	nodes, standing, progress *prometheus.Desc

	mu           sync.Mutex
	maintenances map[string]undertaking
}

// undertaking is one maintenance, and since when its nodes are where they are, as far as
// this process has seen.
type undertaking struct {
	nodes    slipwayv1alpha1.MaintenanceNodeCounts
	standing string // the reason, or nothing
	moved    time.Time
}

func newUndertaken(b *book) *undertaken {
	u := &undertaken{
		nodes: b.computed(Gauge, "slipway_maintenance_nodes",
			"Nodes that a NodeMaintenance selects, by state (waiting, out, returned, failed); absent for those that are over.", "maintenance", "state"),
		standing: b.computed(Gauge, "slipway_maintenance_standing",
			"NodeMaintenances in which nothing moves, by reason of condition Progressing; always 1, and absent for all others.", "maintenance", "reason"),
		progress: b.computed(Gauge, "slipway_maintenance_progress_timestamp_seconds",
			"Unix time when a node of a NodeMaintenance last began, was drained, returned or failed, or when the process saw it first; absent for those that are over.",
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
		if c := meta.FindStatusCondition(status.Conditions, slipwayv1alpha1.MaintenanceProgressing); c != nil && c.Status == metav1.ConditionFalse {
			after.standing = c.Reason
		}
		if was, has := before[name]; has && was.nodes == after.nodes {
			after.moved = was.moved
		}
		u.maintenances[name] = after
	}
}

// Describe is for the registry.
func (u *undertaken) Describe(all chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{u.nodes, u.standing, u.progress} {
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
		if m.standing != "" {
			gauge(u.standing, 1, name, m.standing)
		}
	}
}
