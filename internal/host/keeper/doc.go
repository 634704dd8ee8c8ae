// SPDX-License-Identifier: Apache-2.0

// Package keeper keeps a lock of logind open beside the process that took it: logind releases the machine when the last
// process closes the file, and gives no new locks during a shutdown. With a keeper, the end of one of the two
// processes releases nothing.
//
//	slipway-host ── the lock's file, over a unix socket ──▶ keeper: keeps it open
//	slipway-host, restarted ◀── the same file ───────────────┘
//
// It has no API, no D-Bus and no policy: it keeps the last file, until a message drops it.
package keeper
