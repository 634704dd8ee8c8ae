// SPDX-License-Identifier: Apache-2.0

// Package controller is the surge responder: it starts the replacement of a Deployment's pod
// first, and lets the pod go when the replacement is Ready.
//
//	responderkit ── our turn ──▶ namespace: one goroutine, its watches
//	pods with our marks, at the start ──▶   │ gather, by ReplicaSet
//	                                        ▼
//	                             surge.Next ──▶ perform ──▶ one pod's metadata
//
// All about a namespace is done by one goroutine, one step after the other. It watches the
// namespace's pods, ReplicaSets, Deployments, Services, budgets and Evictions while there
// is a turn or a pod with our marks that something can be done about, and a minute longer;
// without requests, nothing.
//
// Who ends a turn does not matter: a pod with our marks whose Eviction is over is given
// back, because that is what the API shows, whichever process sees it. What was written
// counts until the watch shows it or something newer.
//
// It decides nothing, evicts nothing, and writes nothing but labels, annotations and
// owners of single pods. It runs in the leader among the controller's processes only.
package controller
