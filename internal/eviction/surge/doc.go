// SPDX-License-Identifier: Apache-2.0

// Package surge decides for the surge responder: it starts the replacement of a Deployment's pod first, and lets
// the pod go when the replacement is Ready.
//
//	a ReplicaSet, its Deployment, its pods, their runs ── Next ──▶ one step, or when to decide again
//
// # How a replacement is started
//
// A ReplicaSet has the pods that match its selector, and the label pod-template-hash is part of it. Changing that
// label of one pod releases the pod: the ReplicaSet creates another in its place, at once. The released pod keeps
// running. Services, PodDisruptionBudgets and autoscalers select by the app's own labels, and see both pods. The
// Deployment, its spec.replicas and its history do not change; only its status no longer counts the released pod.
//
// A pod is in one of three states. Its metadata holds the state, so that any process can continue after a crash:
//
//		kept ──Release──▶ released ──GiveBack──▶ returning ──Forget──▶ kept
//		                     └── evicted by the next responder
//
//	  - released: pod-template-hash is HASH-released, and the pod is marked: with the label that finds it, three
//	    annotations (the hash; the time of the release; how many other pods were not Ready then), and the Deployment as an
//	    owner that is not its controller, so that the garbage collector deletes the pod with the Deployment.
//	  - returning: the hash is as it was. The marks stay until the ReplicaSet has adopted the pod: until then, the
//	    Deployment is its only owner. The ReplicaSet then has one pod too many, and deletes one. It prefers pods that
//	    have no node, are pending or are not Ready. So a pod that is given back because its replacement is not
//	    Ready stays. If both are Ready, either may go.
//
// # When a pod may go
//
// Replacements are interchangeable: if several pods of a ReplicaSet are released, the first replacement that is
// Ready counts for the pod whose run began first. A pod may go when as many pods are available as the ReplicaSet
// has replicas, without the pod itself and earlier pods that may be evicted and still exist.
//
// The responder does not wait for pods that are not Ready and existed a minute before any of the releases, up to their
// number at the pod's release: without the responder, they would not be Ready either. The minute is for clock skew:
// the Eviction API accepts times that are 30 s off. The responder releases no pod while the ReplicaSet has more
// pods than replicas, such as after the return of one: a surplus pod would count as a replacement.
//
// # When there is no replacement
//
// A pod gets none if it is not a Deployment's or not Ready; if its Deployment is in a rollout, paused, or has the
// strategy Recreate, which forbids two pods at a time; or if a Service or a PodDisruptionBudget selects it by
// pod-template-hash. It waits while a replacement of the same ReplicaSet cannot be scheduled. When a rollout
// begins, or the replacement is not Ready within the Deployment's progressDeadlineSeconds (Facts.deadline
// in next.go: 10 min if unset, at most 1 h), the pod returns to its ReplicaSet. The run then ends with the reason as its
// message, and the next responder runs.
//
// It is pure: no client, no clock, no goroutine.
package surge
