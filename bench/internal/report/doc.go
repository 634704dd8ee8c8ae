// SPDX-License-Identifier: Apache-2.0

// Package report shows what was measured: to people as Markdown and charts, to programs as JSON.
//
// A page has a place for a text between two markers. Numbers there are generated, never typed:
//
//	<!-- NAME: begin (make TARGET writes this) -->
//	<!-- NAME: end -->
package report
