// SPDX-License-Identifier: Apache-2.0

// Package cost measures what one of Slipway's programs costs: memory from /proc, requests from the API
// server's audit log.
//
//	Agent: a node with pods ─▶ the agent at rest ─▶ one drain
//	Evictions: pods ─▶ the controller at rest ─▶ one EvictionRequest for each pod
package cost
