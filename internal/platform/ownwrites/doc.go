// SPDX-License-Identifier: Apache-2.0

// Package ownwrites lets a controller read its own writes before the watch shows them.
//
//	API server ── answer to a write ──▶ Writes ──┐
//	         └─── watch ──▶ informer's store ────┴──▶ Newest: of each object, the newer version
//
// Otherwise, a controller with a late watch decides on the state before its last write, and repeats the step, which
// the server refuses at best.
//
// An object that the watch does not show is either too new for the watch, or was deleted. The resource version of the
// store distinguishes the two: a store that has reached the write shows the object unless it was deleted. So an answer
// that arrives after the deletion revives no object. A deletion during a broken watch revives none either.
//
// controller-runtime has another mechanism, client.CacheOptions.EnableReadYourWritesConsistency, which is experimental
// in 0.25. A read waits until the watch has shown all earlier writes. Slipway cannot use it, because such a read can
// wait forever:
//
//   - It learns the progress of the watch from the objects that handlers receive, and neither from lists nor from
//     bookmarks. An object that is written, and deleted while the watch is broken, blocks all Lists of its kind until
//     another object of the kind changes.
//   - A deletion blocks until a handler receives it. If the watch breaks between the creation and the deletion, no
//     handler does: Lists block until the process ends.
//   - One object blocks the Lists of all objects: while a watch is broken, which takes a minute after an outage of the
//     API server, no node and no pod makes progress.
//
// It covers only clients that read through controller-runtime's cache, with one namespace for each kind. The
// controllers of evictions watch namespaces on demand, with separate informers.
//
// The agent of a node does not use this package. It has one node's objects, and reads them from the API server
// when its watches are late: see lag in internal/lifecycle/agent.
package ownwrites
