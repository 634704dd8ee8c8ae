// SPDX-License-Identifier: Apache-2.0

// Package story makes of what a watch shows a text that a person can follow.
//
//	event, Node, pods, each with the time it was seen ──▶ Story ──┬─▶ Log: what has happened, a line each
//	                                                              ├─▶ Frame: how it is now, to be redrawn
//	                                                              └─▶ Outcome: how it ended
//
// It reads nothing, writes nothing and has no clock.
package story
