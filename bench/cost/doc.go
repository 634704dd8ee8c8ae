// SPDX-License-Identifier: Apache-2.0

// Command cost measures what an agent costs on its node: memory from /proc, requests
// from the API server's audit log.
//
//	own cluster ─▶ node with PODS pods ─▶ agent at rest ─▶ one drain ─▶ a table in Markdown
//
// With --readme it puts the table into the README, between two markers: the numbers
// there are regenerated, never typed.
package main
