// SPDX-License-Identifier: Apache-2.0

// Package plot draws what was measured, and the lines through it, as an SVG for light pages and dark ones.
//
//	panels of series ── Figure ──▶ SVG
//
// It draws: what the points are, and whether lines go through them, others say.
package plot
