// SPDX-License-Identifier: Apache-2.0

// Package cordon says for whom a Node is cordoned, and by whom else.
//
//	annotation slipway.dev/cordons ──▶ NotedOn ──▶ Noted: owners, and the cordon before ours
//	managed fields                 ──▶ By      ──▶ Foreign: who wrote spec.unschedulable
//
// It reads Nodes that somebody has. It has no client and decides nothing: node/state writes.
package cordon
