// SPDX-License-Identifier: Apache-2.0

// Package responders tells drains what becomes of Evictions (KEP-4563), and which pods have
// responders of their own: it is the drain.ResponderReader of the drain driver.
//
//	watch: Evictions of all namespaces ─────────── shared, while there is a Follow ──┐
//	watch: namespaces that opt in to surge ────────────────── the same ──────────────┴─▶ respond ─▶ drain
//
// It asks as the driver itself, not as the node. Where Evictions are not served, or may not
// be read, there is nothing to tell; that is asked for again by the first drain that begins,
// and every ten minutes while drains go on. At rest it has no watch open.
//
// It writes nothing, and decides nothing about pods.
package responders
