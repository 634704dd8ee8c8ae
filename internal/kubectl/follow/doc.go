// SPDX-License-Identifier: Apache-2.0

// Package follow watches objects and shows them until they reach an end.
//
//	API server ── one watch a kind ──▶ inbox ──▶ View ──▶ terminal, lines or JSON
//
// Every command that follows objects calls [Cluster.ToEnd] with a [View]: [Events] for
// LifecycleEvents and their nodes; other views embed a [Store] and add Show. The package only
// watches: the cluster needs no watcher.
package follow
