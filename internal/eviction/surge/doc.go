// SPDX-License-Identifier: Apache-2.0

// Package surge decides for the surge responder: it starts the replacement of a
// Deployment's pod first, and lets the pod go when the replacement is Ready.
//
//	a ReplicaSet, its Deployment, its pods, whose turn it is ── Next ──▶ one step, or when to look again
//
// # How a replacement is started
//
// A ReplicaSet has the pods that match its selector, and the label pod-template-hash is
// part of it. Changing that label of one pod releases it: the ReplicaSet creates another
// in its place, at once. The released pod goes on as before. Services, budgets and
// autoscalers select by the app's own labels, and see both. The Deployment, its
// spec.replicas and its history are not touched; only its status counts the released pod
// no more.
//
// A pod is in one of three states, which its metadata says, so that whoever comes after a
// crash goes on where it stood:
//
//		kept ──Release──▶ released ──GiveBack──▶ returning ──Forget──▶ kept
//		                     └── evicted by the responder that comes next
//
//	  - released: pod-template-hash is HASH-released, and our marks are there: the label that
//	    finds it, three annotations (the hash; when it was released; how
//	    many others were not Ready then), and the Deployment as an
//	    owner that is not its controller, so that the pod is collected with it.
//	  - returning: the hash is as it was. The marks stay until the ReplicaSet has adopted
//	    the pod: until then, the Deployment is its only owner. The ReplicaSet then has one
//	    pod too many, and deletes one: by its own order, one that has no node, is pending or
//	    is not Ready comes before one that is Ready. So a pod that is given back because its
//	    replacement is not Ready stays. Of two that are Ready either may go.
//
// # When a pod may go
//
// Replacements are not told apart: with several pods of a ReplicaSet released, the first
// that is Ready stands for the first whose turn it is. A pod may go when, without it and
// without those that were let go before it and are still there, as many pods are available
// as the ReplicaSet has replicas. Pods that are not Ready, and were there a minute before
// any of the releases, are not waited for, as many as there were at the pod's release:
// without us, they would not be Ready either. The minute is for clocks: the Eviction API
// takes times that are 30 s off. Nothing is released
// while the ReplicaSet has more pods than it is to have, as after one was given back: what
// it has too many would be taken for a replacement.
//
// # When it does not, or gives up
//
// It leaves a pod alone that is not a Deployment's, or not Ready; whose Deployment is in a
// rollout, paused, or has the strategy Recreate, which says that there must not be two; or
// that a Service or a budget selects by pod-template-hash. It begins nothing while a
// replacement of the same ReplicaSet cannot be scheduled. When a rollout begins, or the
// replacement is not Ready within the Deployment's progressDeadlineSeconds, it gives the
// pod back. Its turn is then over, with a message that says why, and the next responder
// has its turn.
//
// It is pure: no client, no clock, no goroutine.
package surge
