// SPDX-License-Identifier: Apache-2.0

// Package responders reads Evictions (KEP-4563), and finds the pods that have their own
// responders, for drains: it is the drain.ResponderReader of the drain driver.
//
//	watch: Evictions of all namespaces ─────────── shared, while there is a Follow ──┐
//	watch: namespaces that opt in to surge ────────────────── the same ──────────────┴─▶ respond ─▶ drain
//
// It reads as the driver itself, not as the node. If the server does not serve Evictions, or the driver may not read them, no
// pod has responders; the first drain that begins tries again, and every ten minutes while drains run. At rest it has no watch
// open.
//
// It writes nothing, and decides nothing about pods.
package responders
