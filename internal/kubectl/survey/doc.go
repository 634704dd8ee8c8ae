// SPDX-License-Identifier: Apache-2.0

// Package survey reads the facts of explain, plan and forecast, with the rights of who asks.
//
//	API server ── bounded requests, as whoever calls ──▶ Facts, and what could not be read
//
// A right that is missing is no failure: the facts say what is not in them, and why. It
// writes nothing, decides nothing and keeps nothing.
package survey
