// SPDX-License-Identifier: Apache-2.0

// Package nodelease acquires, keeps and releases the lease of a node. The lease serializes
// tools that reboot, drain, reconfigure, shut down or delete nodes (the node lease proposal,
// kubernetes/enhancements PR 1411).
//
//	Lease kube-node-maintenance/<node> ── Read ──▶ the holder, and the expiry
//	        ▲                                        │ free, or the caller's own
//	        └── compare and swap ── Take, Give ◀─────┘
//
// # Usage
//
// Every tool that disturbs a node acquires the lease before it begins. The lease is an
// agreement among these tools: it taints nothing, cordons nothing, starts nothing, and the
// kubelet ignores it. It does not stop a tool that ignores it.
//
//	leases := nodelease.New(clients, clock.RealClock{})
//	err := leases.Keep(ctx, "worker-1", "fwup.example.com", "firmware 2.4", 5*time.Minute, flash)
//	if taken, ok := errors.AsType[*nodelease.TakenError](err); ok {
//		log.Printf("later: %s is at work on the node", taken.Held.Holder)
//	}
//
// # Duties of a holder
//
//   - It begins only after it has acquired the lease, and continues while [Held.Valid] is true
//     by its own clock. [Client.Keep] cancels the context of the work at that time.
//   - Its clock differs from other clocks by at most [Skew]. Waiting tools wait for this time
//     longer than the holder works, so two tools never work at the same time.
//   - It releases the lease when other tools may use the node: after a drain, that is
//     after the return of the node, not after the last eviction.
//   - It never breaks the lease of another holder, regardless of the waiting time. Users may
//     break a lease: kubectl slipway lease release NODE --force.
//   - Its name is unique. A process that acquires with the name of the current holder renews
//     the lease: processes that share a name must coordinate by leader election.
//
// # Crash of a holder
//
// A crashed holder does not renew. After its duration, at most [MaxDuration], and
// [Skew], the lease is free, and the next holder finds the node in the state after the
// crash. A holder that restarts before then acquires it again and continues: [Held.Since] is
// unchanged only if the lease was never free in between.
//
// A holder whose name begins with [AdministratorPrefix] is a person. Its lease never expires,
// and ends only when a user releases it.
//
// # Objects on the server
//
// Each node that a tool has worked on has a Lease (coordination.k8s.io/v1), in the namespace
// [Namespace], with the name of the node and the Node as its owner: the garbage collector
// deletes it with the node. The first holder creates it, and it stays after its release, with
// an empty holder. A tool needs get, list, create and update of leases there, and get of nodes.
//
// The package does not log, and only [Client.Keep] works in the background.
package nodelease
