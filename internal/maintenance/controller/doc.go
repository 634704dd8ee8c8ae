// SPDX-License-Identifier: Apache-2.0

// Package controller carries out NodeMaintenances: it gathers the facts of the whole cluster, and performs
// the steps that package maintenance decides. It decides nothing. It runs only in the leader of the
// controller's processes.
//
//	NodeMaintenances, Nodes, LifecycleEvents, Jobs, PodTemplates, Leases  (the process's cache; gather.go)
//	own writes that these watches have not shown yet                      (platform/ownwrites)
//	pods and PodDisruptionBudgets, watched while a decision needs them    (watches.go)
//	        │ any change: one pass over the whole cluster, at most five a second (controller.go)
//	        ▼
//	gather.go ─▶ maintenance.Next ─▶ steps, side by side, and statuses (perform.go) ─▶ API server
//	    ▲                                   │ the controller retries a failed step, with a backoff
//	    └──── refusals of the server ───────┘ (failed.go)
//
// It writes LifecycleEvents by package record, and Nodes by package state.
package controller
