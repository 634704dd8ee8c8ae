// SPDX-License-Identifier: Apache-2.0

// Package monitoring tests the alerts and the dashboard of config/monitoring with the
// parsers and the engine of Prometheus: that they name metrics that there are, that each
// alert has a runbook entry, and that each fires when it should and not else.
package monitoring
