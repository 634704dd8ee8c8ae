// SPDX-License-Identifier: Apache-2.0

// Package progress makes of what a watch shows a text that a person can follow.
//
//	events, Nodes, pods, each with the time it was seen ──▶ Stories ──┬─▶ Log: what has happened, a line each
//	                                                                  ├─▶ Changes: the same for programs
//	                                                                  ├─▶ Frame, Still: how it is now
//	                                                                  └─▶ Ends: how it ended
//
// It reads nothing, writes nothing and has no clock.
package progress
