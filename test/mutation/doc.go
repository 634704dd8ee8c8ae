// SPDX-License-Identifier: Apache-2.0

// Command mutation says how much of a package its own tests hold: it makes one small
// mistake after the other in the code, and looks whether a test fails.
//
//	package ── load ──▶ syntax and types ── mutate ──▶ one source with all mistakes in it, each of
//	   which is switched on by its number ── build, once, by an overlay ──▶ test binary
//	each test, alone ── trace ──▶ which mistakes it comes by, and how long it takes
//	each mistake ── run the tests that come by it, quick ones first ──▶ killed, or it survives
//	survivors − those of equivalent.txt, which has their reasons ── report ──▶ table, list
//
// As all mistakes are in one binary, one costs a run of some tests, and no compiler and
// linker. Nothing is written into the tree.
//
// The mistakes:
//
//	a condition is always true, or never; one side of && or || does not count
//	< is <=, and so on; a time that is before may be the same
//	a statement is not there: a call, an assignment, continue, break, defer, go
//	a loop has no rounds; a case does nothing
//	what is returned is the zero value, or the opposite; a field of a literal is not set
//	a number is one more, a duration double; + is -, * is /, and the other way round
//
// Not: texts, and what is logged. Mistakes that others imply, such as && for ||, are left
// out: a test that sees both sides of && sees that one too.
//
// It must not judge tests that need a cluster: those are skipped, as everywhere without one.
package main
