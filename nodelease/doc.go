// SPDX-License-Identifier: Apache-2.0

// Package nodelease takes, keeps and gives back the lease of a node, so that of several tools
// that reboot, drain, reconfigure, power off or delete nodes, one at a time works on a node
// (the node lease proposal, kubernetes/enhancements PR 1411).
//
//	Lease kube-node-maintenance/<node> ── Read ──▶ who holds it, until when
//	        ▲                                        │ free, or one's own
//	        └── compare and swap ── Take, Give ◀─────┘
//
// # Who uses it
//
// Every tool that disturbs a node, before it begins. The lease is an agreement among them:
// it taints nothing, cordons nothing, starts nothing, and the kubelet does not look at it. A
// tool that does not ask is not held off.
//
//	leases := nodelease.New(clients, clock.RealClock{})
//	err := leases.Keep(ctx, "worker-1", "fwup.example.com", "firmware 2.4", 5*time.Minute, flash)
//	if taken, ok := errors.AsType[*nodelease.TakenError](err); ok {
//		log.Printf("later: %s is at work on the node", taken.Held.Holder)
//	}
//
// # What a holder promises
//
//   - It begins only once it has the lease, and works on while [Held.Valid] says so by its own
//     clock. [Client.Keep] cancels the work's context at that time.
//   - Its clock is at most [Skew] off those of the others. Who waits for the lease waits that
//     much longer than the holder works, so never do two work at a time.
//   - It gives the lease back when the node is as others may find it: after a drain, that is
//     after the node is back, not after it is empty.
//   - It never takes a lease that somebody else holds, however long. People may break one:
//     kubectl slipway lease release NODE --force.
//   - Its name is its own. Whoever acquires with the name of the present holder renews the
//     lease: processes that share a name must be one among themselves, by leader election.
//
// # When a holder crashes
//
// It renews no more. After the duration that it has asked for, at most [MaxDuration], and
// [Skew], the lease is free, and whoever acquires it next finds the node as the crash has left
// it. A holder that is back before then acquires it again and goes on: [Held.Since] stays as
// it was only if the lease never was free in between.
//
// A holder whose name begins with [AdministratorPrefix] is a person. Its lease never expires,
// and ends only when somebody gives it back.
//
// # What there is on the server
//
// A Lease (coordination.k8s.io/v1) for each node that was worked on, in the namespace
// [Namespace], with the name of the node and the Node as its owner: it is collected with the
// node. It is made when it is first needed, and stays when it is given back, with an empty
// holder. A tool needs get, list, create and update of leases there, and get of nodes.
//
// Nothing here logs, and nothing but [Client.Keep] runs by itself.
package nodelease
