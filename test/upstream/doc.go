// SPDX-License-Identifier: Apache-2.0

// Package upstream compares Slipway with Kubernetes' own controllers for EvictionRequests (KEP-4563), which no release
// contains yet: the evictionrequest-controller (kubernetes/kubernetes PR 137133) and the imperative eviction responder
// (PR 137396). Its tables have the expectations of their tests, each under the name of its upstream case. With the
// next release of Kubernetes, compare the tables again.
//
// These differences are intended:
//
//   - A failed Eviction is followed by another one at once; after further failures Slipway pauses, upstream does not.
//   - The responder has 5 s to report after this process has seen the end of the pod. Upstream counts from the
//     deletionTimestamp of a pod that has completed.
//   - An Eviction without requests is ended and deleted. Upstream first validates it.
//   - Slipway lists requesters by name, upstream by relevance (TestSortEvictionRequestsByRelevance).
//   - The last responder waits for the PodDisruptionBudget, and counts no attempts (TestGetRecordedAttempts).
package upstream
