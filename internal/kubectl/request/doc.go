// SPDX-License-Identifier: Apache-2.0

// Package request makes of flags the LifecycleEvents and NodeMaintenances that are asked for.
//
//	flags, node ──▶ LifecycleEvent ──┬─▶ who creates it
//	                                 └─▶ Differences from one that is there already
//	flags, nodes ──▶ NodeMaintenance ──▶ who creates it
//
// It is pure: no client, no clock. What it gives is complete: the server adds who asks,
// and the gates of its policies.
package request
