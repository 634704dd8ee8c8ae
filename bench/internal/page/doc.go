// SPDX-License-Identifier: Apache-2.0

// Package page puts what was measured into a file for people, between two markers:
//
//	<!-- NAME: begin (make TARGET writes this) -->
//	<!-- NAME: end -->
//
// Numbers there are regenerated, never typed.
package page
