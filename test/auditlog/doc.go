// SPDX-License-Identifier: Apache-2.0

// Package auditlog reads the audit log of an API server: what was asked of it, by
// whom, and what it answered.
//
//	audit.log (JSON lines) ── Read ──▶ []Request, in the order in which they were answered
//	                          Tail: the lines that have come since
//
// It shares no code with the product, so that what it says of it is evidence.
package auditlog
