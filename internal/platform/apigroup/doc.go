// SPDX-License-Identifier: Apache-2.0

// Package apigroup finds out in which API group the server serves LifecycleTransition
// and LifecycleEvent, and gives the scheme and the mapper for it.
//
//	server ── LIST, limit 1, in either group ──▶ Find ──▶ Home ──▶ Scheme, Mapper
//
// A CRD in lifecycle.k8s.io works where the server does not serve that group itself.
// Where it does (EvictionRequest, Kubernetes 1.37, alpha), every request for the CRD
// answers 404 although discovery still lists it: so discovery is not asked. Watch asks
// again when a process's own watches start to fail.
package apigroup
