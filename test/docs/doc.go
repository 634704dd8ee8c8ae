// SPDX-License-Identifier: Apache-2.0

// Package docs holds the documents to what they say: their links lead somewhere, and who
// types their commands into a terminal gets what they promise.
//
//	docs/*.md ── blocks of commands, as they stand there ──▶ bash on a terminal ──▶ a local cluster
package docs
