// SPDX-License-Identifier: Apache-2.0

// Package reasons is the catalogue of all reason codes: for each code and place, its meaning
// and the remedy.
//
//	code, place ── Lookup ──▶ Entry: meaning, remedy, whether it passes by itself
//
// The controller, the agents and kubectl slipway take the remedies in their messages from here.
// Package drain defines the remedies against blockers of a drain, and adds them to its messages.
// Alerts link to docs/reference/reasons.md, which is generated from this package.
//
// The package is pure.
package reasons
