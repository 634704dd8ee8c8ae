// SPDX-License-Identifier: Apache-2.0

// Package reasons is the catalogue of all reason codes: for each code and place, what it
// means and what helps.
//
//	code, place ── Lookup ──▶ Entry: meaning, remedy, whether it passes by itself
//
// The controller, the agents and kubectl slipway take the remedies in their messages
// from here. A drain, which imports nothing of Slipway, has the same texts, and a test
// compares them. Alerts link to docs/reference/reasons.md, which is generated from this
// package.
//
// It is pure and imports nothing of Slipway but the API types.
package reasons
