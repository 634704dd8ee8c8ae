// SPDX-License-Identifier: Apache-2.0

// Package ui is how text looks on a terminal, and without one: how wide, in which
// colors, in tables and bars.
//
//	text, width, colors ──▶ lines
//
// It does not know what the text is about.
package ui
