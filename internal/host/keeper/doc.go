// SPDX-License-Identifier: Apache-2.0

// Package keeper keeps a lock of logind open beside the process that took it: logind lets the
// machine go when nobody has the file open any more, and gives no new locks by then. With a
// keeper, that either process is killed releases nothing.
//
//	slipway-host ── the lock's file, over a unix socket ──▶ keeper: keeps it open
//	slipway-host, begun anew ◀── the same file ──────────────┘
//
// It has no API, no D-Bus and no opinion: it keeps what it was given last, until it is told
// to drop it.
package keeper
