// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/slipway-k8s/slipway/internal/platform/telemetry"
)

// metricsPage is the path of the metrics reference.
const metricsPage = "docs/reference/metrics.md"

const metricsHead = `<!-- Written by docs/generate, from internal/platform/telemetry. make generate -->

# Metrics

With ` + "`--metrics-bind-address`" + `, the agents, the controller, slipway-host and a standalone drain driver serve these metrics at
` + "`/metrics`" + `. They also serve the metrics of Go, of the process and of controller-runtime. Durations are in seconds, and
timestamps are Unix times.

No label contains the name of a pod, a PodDisruptionBudget or an event. A process has at most 64 values of ` + "`driver`, `transition` and `reason`" + `;
further values become ` + "`other`" + `. Series with the label ` + "`node`" + ` exist only while Slipway works on the node.

Alerts: [runbooks.md](../runbooks.md). Dashboard: ` + "`config/monitoring/dashboard.json`" + `.

| metric | type | labels | unit | meaning | component |
|---|---|---|---|---|---|
`

// metrics is the reference of all metrics.
func metrics() string {
	var page strings.Builder
	page.WriteString(metricsHead)
	for _, m := range telemetry.Metrics() {
		labels := make([]string, len(m.Labels))
		for i, l := range m.Labels {
			labels[i] = "`" + l + "`"
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s | %s | %s |\n",
			m.Name, m.Type, strings.Join(labels, ", "), unit(m), m.Help, strings.ReplaceAll(strings.Join(m.From, ", "), "slipway-", ""))
	}
	return page.String()
}

// unit is in the name, by the conventions of Prometheus.
func unit(m telemetry.Metric) string {
	name := strings.TrimSuffix(m.Name, "_total")
	switch {
	case strings.HasSuffix(name, "_timestamp_seconds"):
		return "Unix time"
	case strings.HasSuffix(name, "_seconds"):
		return "seconds"
	case m.Type == telemetry.Counter:
		return "count"
	default:
		return ""
	}
}
