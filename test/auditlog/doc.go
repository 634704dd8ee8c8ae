// SPDX-License-Identifier: Apache-2.0

// Package auditlog reads the audit log of an API server: the requests, their
// users, and the answers.
//
//	audit.log (JSON lines) ── Read ──▶ []Request, in the order in which they were answered
//	                          Tail: the lines that have come since
//
// It shares no code with the product, so it is evidence about the product.
package auditlog
