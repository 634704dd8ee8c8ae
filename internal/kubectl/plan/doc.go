// SPDX-License-Identifier: Apache-2.0

// Package plan says what a drain of some nodes would do, and where the replacements of
// their pods could run.
//
//	facts ─▶ drain.Preview ─▶ who leaves ─▶ place ─▶ fits, or fits nowhere ─▶ prediction
//	             ▲                                            │
//	             └──── a pod that fits nowhere frees no budget ┘
//
// What becomes of pods is decided by drain alone. Where a replacement fits is asked of each
// node by what the scheduler requires: one question a file. What is not asked is in the
// prediction.
//
// It is pure: no client, no clock, no goroutine. It must not decide about pods by other
// code than drain.
package plan
