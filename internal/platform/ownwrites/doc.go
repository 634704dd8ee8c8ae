// SPDX-License-Identifier: Apache-2.0

// Package ownwrites lets a controller read its own writes before the watch shows them.
//
//	API server ── answer to a write ──▶ Writes ──┐
//	         └─── watch ──▶ informer's store ────┴──▶ Newest: of each object, the newer version
//
// Without it, a controller whose watch is late decides on the state before its last write, and does the step
// again: it is refused at best.
//
// An object of which the watch shows nothing is either too new for the watch or deleted. The resource version
// of the store tells the two apart: a store that has come as far as the write shows the object unless it is
// gone. So an answer that arrives after the watch has shown the deletion brings no ghost back, and neither
// does an object that was deleted while the watch was broken.
//
// controller-runtime has a mechanism of its own, client.CacheOptions.EnableReadYourWritesConsistency, which is
// experimental in 0.25. It has a read wait until the watch has shown all writes before it. It does not carry
// here, because such a read can wait for ever:
//
//   - It learns how far the watch is from the objects that handlers are given, and neither from lists nor
//     from bookmarks. An object that is written, and deleted while the watch is broken, blocks all Lists of
//     its kind until another object of the kind changes.
//   - A deletion blocks until a handler is given that deletion. None is if the watch breaks between the
//     creation and the deletion: Lists block until the process ends.
//   - One object blocks the Lists of all: while a watch is broken, which takes a minute after an outage of the
//     API server, no node and no pod gets on.
//
// It covers clients that read through controller-runtime's cache only, with one namespace for each kind. The
// evictions' controllers watch namespaces when they need them, and have informers of their own.
//
// The agent of a node does not use this package. It has one node's objects, and reads them from the API server
// when its watches are late: see lag in internal/lifecycle/agent.
package ownwrites
