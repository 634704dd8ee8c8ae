// SPDX-License-Identifier: Apache-2.0

// Package plugins knows which lifecycle drivers are registered on the node, and
// whether they are ready.
//
//	registration directory ── fsnotify, every 10 s ──▶ scan: socket files
//	                                                     │ one follower per file
//	                          GetInfo, Notify ◀──▶ follower ──▶ Registry
//	                                                              │
//	agent ── Driver, Names, Check, Client ───────────────────────┘── OnChange ──▶ agent
//
// What is in the directory decides. fsnotify only wakes the scan; events that are
// lost are made good by the next one. A driver is registered while its socket is
// there and some process listens; a process that has frozen stays registered, and is
// found out by Check.
//
// It does not call drivers on behalf of events, knows nothing of events and
// transitions, and writes nothing to the API server.
package plugins
