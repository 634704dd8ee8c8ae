// SPDX-License-Identifier: Apache-2.0

// Package cli has the common parts of all commands of kubectl slipway: the streams and flags ([Tool]), the
// cluster, the choice of nodes, the formats of the output, tables, the live view, and the exit
// codes.
//
//	command line ──▶ Tool, Nodes, Output ──▶ command ──▶ View ──▶ Show ──▶ output
//	watch ──▶ Board ──▶ Picture ──▶ Live ──▶ terminal, lines, or JSON
package cli
