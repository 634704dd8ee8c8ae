// SPDX-License-Identifier: Apache-2.0

// Package policies tests the admission policies as the API server evaluates them, and
// without one: the library that it does it with is all it takes.
//
//	config/admission ── compiled ──▶ evaluator ◀── who does what to which object
//	                                     └──▶ accepted; or refused, with which words
//
// That the server is asked at all, and who else refuses, is tested in test/attack. The
// library is heavy, and nothing else needs it: this is a Go module of its own.
package policies
