// SPDX-License-Identifier: Apache-2.0

// Package controller is the surge responder: it starts the replacement of a Deployment's pod first, and completes
// its part of the Eviction when the replacement is Ready.
//
//	responderkit ── run ──▶ queue by namespace ──▶ its watches
//	pods with the marks of a release, at the start ──▶   │ gather, by ReplicaSet
//	                                                     ▼
//	                                          surge.Next ──▶ perform ──▶ one pod's metadata
//
// A worker processes a namespace step by step. Its pods, ReplicaSets, Deployments, Services, PodDisruptionBudgets and
// Evictions are watched while it has a run or a released pod that a step can help, and a minute longer. Without
// EvictionRequests, the package has no watches.
//
// Any process can end a run: a released pod whose Eviction has ended returns to its ReplicaSet, because the API shows
// that. Writes count before the watch shows them.
//
// It decides nothing, evicts nothing, and writes only labels, annotations and owners of single pods. It runs only
// in the leader among the controller's processes.
package controller
