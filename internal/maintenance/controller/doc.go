// SPDX-License-Identifier: Apache-2.0

// Package controller carries out the maintenance of many nodes: it gathers what
// maintenance.Next needs, and performs its steps.
//
//	NodeMaintenances, Nodes, LifecycleEvents, Jobs, PodTemplates (watched, in the process's cache)
//	pods that are Pending or not Ready; pods of nodes that have returned; pods that are kept away from nodes;
//	the budgets of the pods of all nodes; pods that no node takes (watched while Next asks for it)
//	        │ any change: one pass, of the whole cluster, at most five a second
//	        ▼
//	maintenance.Next ──▶ steps, side by side ──▶ API server
//
// LifecycleEvents it writes through record, Nodes through nodestate. It decides nothing. It
// runs in the leader among the controller's processes only.
package controller
