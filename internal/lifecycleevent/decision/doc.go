// SPDX-License-Identifier: Apache-2.0

// Package decision is what the pure rooms answer that decide one step at a time.
//
//	one rule of a room ──▶ Of[Step] ──┐
//	the next rule      ──▶ Of[Step] ──┴─ Or ──▶ the first step, or the earliest time to ask again
//
// It knows nothing of the steps.
package decision
