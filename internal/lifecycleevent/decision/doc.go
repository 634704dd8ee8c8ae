// SPDX-License-Identifier: Apache-2.0

// Package decision has the answer of the pure packages that decide one step at a time.
//
//	one rule           ──▶ Of[Step] ──┐
//	the next rule      ──▶ Of[Step] ──┴─ Or ──▶ the first step, or the earliest time of the next decision
//
// The package does not depend on the kinds of steps.
package decision
