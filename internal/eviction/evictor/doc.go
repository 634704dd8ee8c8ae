// SPDX-License-Identifier: Apache-2.0

// Package evictor is the responder that comes last for every pod, imperative-eviction.k8s.io/evictor of KEP-4563:
// it evicts.
//
//	Eviction, when its turn comes ── responderkit ──▶ one run for the pod ──▶ drain: evict within every PodDisruptionBudget
//	status.responders[evictor]    ◀── responderkit ── blockers ◀──────────────────┘
//
// Kubernetes' own controller would try again and again, with pauses of up to 15 minutes. This one waits for the
// pod's PodDisruptionBudget and evicts when that allows it, one pod under a budget at a time. It does not evict pods
// of DaemonSets and static pods: it reports the reason, and completes.
//
// It stores nothing. After a restart the runs begin again, and continue from the state of the cluster. It must not
// decide about pods by other code than drain's, nor write to an Eviction itself.
package evictor
