// SPDX-License-Identifier: Apache-2.0

// Package report shows what was measured, to people and to programs.
//
//	Results ─┬─ Summarise ─▶ Summary of each scenario and contender: medians, ratios
//	         │                 ├─ Table      for a terminal
//	         │                 ├─ Markdown   for the README
//	         │                 └─ Chart      an SVG, legible on light and dark
//	         └─ Write, Read    results.json: each run by itself
//
// Apart from the file, it is pure.
package report
