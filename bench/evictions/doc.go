// SPDX-License-Identifier: Apache-2.0

// Command evictions measures what many EvictionRequests at once cost: memory of the
// controller from /proc, requests from the API server's audit log.
//
//	own cluster ─▶ PODS pods ─▶ controller at rest ─▶ one EvictionRequest for each ─▶ a table in Markdown
//
// With --readme it puts the table into the README, between two markers: the numbers there
// are regenerated, never typed.
package main
