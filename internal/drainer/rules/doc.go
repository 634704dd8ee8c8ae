// SPDX-License-Identifier: Apache-2.0

// Package rules reads DrainRules for drains: it is the drain.RuleReader of the drain
// driver.
//
//	watch: DrainRules of all namespaces ── shared, while there is a Follow ──┐
//	watch: labels of one namespace ── while a rule selects by them ──────────┴─▶ pick ─▶ tell
//
// It asks as the driver itself, not as the node. Watches only wake; what is told is picked
// anew from what they have shown. At rest it has no watch open.
//
// A rule that is not understood is an error for the namespaces that it may be about, which
// holds their drains up: whoever wrote it wanted their pods spared something. It must not
// write, and decides nothing about pods.
package rules
