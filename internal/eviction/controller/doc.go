// SPDX-License-Identifier: Apache-2.0

// Package controller is the evictionrequest-controller (KEP-4563): it gathers what there
// is about a pod that somebody wants to have evicted, and does what evictionrequest
// decides.
//
//	EvictionRequests, Evictions (all), pods (of namespaces with requests)
//	        │ watch                                                  ▲
//	        ▼                                                        │
//	queue by pod ──▶ gather ──▶ evictionrequest.Next ──▶ perform ──▶ API server
//
// It works on the built-in API of Kubernetes 1.37 and on CRDs of the same group alike.
// Without requests, it has two watches and asks for nothing. What it has written counts
// until its watches show it or something newer, so that no step is done twice because a
// watch is late.
//
// It decides nothing, and keeps nothing on disk. It runs in the leader among the
// controller's processes only.
package controller
