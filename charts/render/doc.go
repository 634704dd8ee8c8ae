// SPDX-License-Identifier: Apache-2.0

// Command render makes what there is twice from what there is once.
//
//	config/{crd,rbac,admission,transitions} ── copied ──▶ charts/slipway/files
//	charts/slipway ── rendered, as Helm does it ──▶ config/install*.yaml
//
// Helm's libraries are heavy, and nothing of Slipway needs them: this is a Go module of its
// own. Run it with make manifests. With values in JSON as its argument, it prints the chart
// with them, and writes nothing.
package main
