// SPDX-License-Identifier: Apache-2.0

// Package rules reads DrainRules for drains: it is the drain.RuleReader of the drain
// driver.
//
//	watch: DrainRules of all namespaces ── shared, while there is a Follow ──┐
//	watch: labels of one namespace ── while a rule selects by them ──────────┴─▶ pick ─▶ report
//
// It reads as the driver itself, not as the node. Watches only wake a follower, which picks its rules again from the stores.
// At rest it has no watch open.
//
// A rule that the driver does not understand is an error for the namespaces that it may select: their drains are blocked,
// because the rule may protect their pods. The package must not write, and decides nothing about pods.
package rules
