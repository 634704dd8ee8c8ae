// SPDX-License-Identifier: Apache-2.0

// Package validation replays what is asked of the API server while EvictionRequests are
// worked on through the code with which Kubernetes' own API server takes it in or refuses
// it, with a clock that is set:
//
//	internal/eviction/request: scripts ── internal/eviction/request/testdata/writes ──▶ strategies of the registry
//	                                                           └──▶ accepted, or refused
//
// A real server judges by its own clock, and nobody waits for it 20 minutes. It is a Go
// module of its own, because Kubernetes is heavy, and it is the Kubernetes of localcluster.
package validation
