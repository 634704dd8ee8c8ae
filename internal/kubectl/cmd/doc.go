// SPDX-License-Identifier: Apache-2.0

// Package cmd is kubectl slipway: its commands, each in a file of its own.
//
//	flags, arguments ──▶ command ──┬─ ask ──▶ LifecycleEvent ──▶ API server
//	                               ├─ read (with the rights of who calls) ──▶ facts
//	                               └─ explain, plan, story (pure) ──▶ show ──▶ terminal
//
// A command reads flags, has the facts read, hands them to a pure room, and prints what
// that says. It holds no logic that the server needs: whatever a command begins goes on
// without it. Where a right is missing, it shows what it may read, and says what it may
// not.
//
// Exit codes are those of [Main].
package cmd
