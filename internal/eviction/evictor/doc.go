// SPDX-License-Identifier: Apache-2.0

// Package evictor is the responder that comes last for every pod, imperative-eviction.k8s.io/evictor
// of KEP-4563: it evicts.
//
//	Eviction, when its turn comes ── responderkit ──▶ one run for the pod ──▶ drain: evict within every budget
//	status.responders[evictor]   ◀── responderkit ── what holds the pod up ◀──┘
//
// Where Kubernetes' own controller would try again and again, with pauses of up to 15 minutes, it
// waits for the pod's budget and evicts when that allows it, one pod under a budget at a time. Pods of
// DaemonSets and static pods it does not evict: it says why, and its turn is over.
//
// It keeps nothing. After a restart the runs begin again, and go on with what the cluster shows. It
// must not decide about pods by other code than drain's, nor write anything of an Eviction by itself.
package evictor
