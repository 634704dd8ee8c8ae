// SPDX-License-Identifier: Apache-2.0

// Package controller is the evictionrequest-controller (KEP-4563): it gathers the facts of a pod that
// EvictionRequests name, and performs the steps that package request decides.
//
//	EvictionRequests, Evictions (all), pods (of namespaces with requests)
//	        │ watch                                          ▲
//	        ▼                                                │
//	queue by pod ──▶ gather ──▶ request.Next ──▶ perform ──▶ API server
//
// It works on the built-in API of Kubernetes 1.37 and on CRDs of the same group alike. Without requests, it has
// two watches and sends no request. Its writes count before the watches show them, so that a late watch repeats no
// step.
//
// It decides nothing, and stores nothing on disk. It runs only in the leader among the controller's processes.
package controller
