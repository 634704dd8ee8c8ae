// SPDX-License-Identifier: Apache-2.0

// Package drainrules reads DrainRules for drains: it is the drain.RuleReader of the drain
// driver.
//
//	watch: DrainRules of all namespaces ── shared, while there is a Follow ──┐
//	watch: labels of one namespace ── while a rule selects by them ──────────┴─▶ pick ─▶ tell
//
// It asks as the driver itself, not as the node. Watches only wake; what is told is picked
// anew from what they have shown. At rest it has no watch open.
//
// What is not understood holds up those whom it may be about: a rule with a selector that
// cannot be read is an error for its namespace, or for those that it selects. It must not
// write, and decides nothing about pods.
package drainrules
