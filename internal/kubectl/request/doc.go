// SPDX-License-Identifier: Apache-2.0

// Package request turns the flags of a drain into a LifecycleEvent.
//
//	flags, node ──▶ LifecycleEvent ──▶ slipwayclient ──▶ API server
//
// The package is pure: no client, no clock. Its events are complete: the server adds only the
// requester and the gates of its policies.
package request
