// SPDX-License-Identifier: Apache-2.0

// Package progress turns the objects of a watch into text that a person can follow.
//
//	events, Nodes, pods, each with the time ──▶ Model ──┬─▶ Log: the changes, a line each
//	                                                    ├─▶ Changes: the same for programs
//	                                                    ├─▶ Frame, Still: the current state
//	                                                    └─▶ Outcome: the end of an event
//
// The package has no client and no clock.
package progress
