// SPDX-License-Identifier: Apache-2.0

// Package controller carries out NodeMaintenances: it gathers facts of the whole cluster, and performs
// the steps that package maintenance returns. It decides nothing. It runs in the leader among the
// controller's processes only.
//
//	NodeMaintenances, Nodes, LifecycleEvents, Jobs, PodTemplates, Leases  (the process's cache; watch.go)
//	own writes that these watches have not shown yet                      (platform/ownwrites)
//	pods and PodDisruptionBudgets, watched while Next asks for them       (pods.go, budgets.go, keptaway.go)
//	        │ any change: one pass over the whole cluster, at most five a second (controller.go)
//	        ▼
//	gather.go ─▶ maintenance.Next ─▶ steps, side by side (perform.go), statuses (status.go) ─▶ API server
//	    ▲                                   │ a step that fails is tried again, at growing intervals
//	    └────── what the server refuses ────┘ (failed.go)
//
// It writes LifecycleEvents by package record, and Nodes by package state.
package controller
