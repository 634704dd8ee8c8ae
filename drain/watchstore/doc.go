// SPDX-License-Identifier: Apache-2.0

// Package watchstore keeps the objects of a watch: a typed store that client-go's Reflector fills, for as long as a context
// lasts.
//
//	API server ── list, watch ──▶ Source ──▶ Store: Convert, keep by UID ── Changed ──▶ wakes the user, who reads the Store
//
// It is for watches that end before the process does: the watches of one drain, or of one namespace while a drain has pods
// there (Shared). Watches that last as long as the process belong into an informer cache. A Change reports news; the user
// reads the Store to decide.
package watchstore
