// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/slipway-k8s/slipway/internal/platform/telemetry"
)

// metricsPage is where the reference of metrics is.
const metricsPage = "docs/reference/metrics.md"

const metricsHead = `<!-- Written by docs/generate, from internal/platform/telemetry. make generate -->

# Metrics

At ` + "`/metrics`" + ` of the agents, of the controller, of slipway-host and of a drain driver that runs by itself, where
` + "`--metrics-bind-address`" + ` is set.
Besides these there are those of Go, of the process and of controller-runtime. Times are in seconds, points in time are Unix
times.

No label is the name of a pod, a budget or an event. Of ` + "`driver`, `transition` and `reason`" + ` a process has 64 values at most; what
is more is ` + "`other`" + `. Series with the label ` + "`node`" + ` are there while the node is being worked on, and not after.

Alerts that use them: [runbooks.md](../runbooks.md). A dashboard: ` + "`config/monitoring/dashboard.json`" + `.

| metric | type | labels | unit | says | of |
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
