// SPDX-License-Identifier: Apache-2.0

// Package quota limits how many objects of one group, such as the objects of one namespace, a watch keeps in memory.
//
//	API server ── list, watch ──▶ Quota: the first objects of each group ──▶ informer, or watchstore
//
// Admission bounds the size of an object, and cannot count objects. Without a limit here, the editor of one namespace could
// fill the memory of all processes that watch its objects.
package quota
