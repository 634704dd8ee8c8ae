// SPDX-License-Identifier: Apache-2.0

// Package controller is the surge responder: it starts the replacement of a Deployment's pod first, and lets the
// pod go when the replacement is Ready.
//
//	responderkit ── turn ──▶ queue by namespace ──▶ its watches
//	pods with the marks of a release, at the start ──▶   │ gather, by ReplicaSet
//	                                                     ▼
//	                                          surge.Next ──▶ perform ──▶ one pod's metadata
//
// A namespace is worked on one step after the other. Its pods, ReplicaSets, Deployments, Services,
// PodDisruptionBudgets and Evictions are watched while there is a turn or a released pod that something can be
// done for, and a minute longer. Without EvictionRequests, nothing is watched.
//
// It does not matter which process ends a turn: a released pod whose Eviction is over is given back, because the
// API shows that. What was written counts before the watch shows it.
//
// It decides nothing, evicts nothing, and writes only labels, annotations and owners of single pods. It runs only
// in the leader among the controller's processes.
package controller
