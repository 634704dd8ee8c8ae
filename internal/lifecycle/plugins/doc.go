// SPDX-License-Identifier: Apache-2.0

// Package plugins knows the lifecycle drivers that are registered on the node, and
// whether they answer.
//
//	registration directories ── fsnotify, every 10 s ──▶ scan: socket files
//	                                                       │ one follower per file
//	                            GetInfo, Notify ◀──▶ follower ──▶ Registry
//	                                                                │
//	agent ── Driver, Names, Check, Client ─────────────────────────┘── OnChange ──▶ agent
//
// The contents of the directories decide. fsnotify only starts a scan, so a lost
// notification does no harm: the next scan finds the change. A driver is registered
// while its socket exists and a process listens there. A frozen process stays
// registered; Check detects it.
//
// Several processes may register one name: all calls go to the process with the newest socket file, and the next older
// process takes over when it leaves. A driver may have a folder with its name below a registration directory:
// then no socket outside of that folder registers under the name, so a pod that mounts only its own folder cannot act as this driver.
// The Registry also rejects an endpoint that another socket has registered, and the name of a driver in the agent's process.
//
// A directory may be the kubelet's. The Registry registers the lifecycle drivers there. It asks other plugins for their type
// once, and leaves them to the kubelet.
//
// The package does not know events and transitions, and does not write to the API server.
package plugins
