// SPDX-License-Identifier: Apache-2.0

// Package apigroup finds out in which API group the server serves LifecycleTransition
// and LifecycleEvent, and gives the scheme and the mapper for it.
//
//	server ── LIST, limit 1, in either group ──▶ Find ──▶ Home ──▶ Scheme, Mapper
//
// A CRD in lifecycle.k8s.io works only if the server does not serve that group itself. Otherwise (EvictionRequest,
// Kubernetes 1.37, alpha), the server answers every request for the CRD with 404, although discovery still lists it: so
// the package does not use discovery. Watch repeats Find when the watches of the process start to fail.
package apigroup
