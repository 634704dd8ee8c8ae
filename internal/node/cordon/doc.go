// SPDX-License-Identifier: Apache-2.0

// Package cordon reads the owners of the cordon of a Node.
//
//	annotation slipway.dev/cordons ──▶ On ──▶ Record: owners, and the cordon before them
//	managed fields                 ──▶ By ──▶ Foreign: the last writer of spec.unschedulable
//
// It has no client and decides nothing: node/state writes.
package cordon
