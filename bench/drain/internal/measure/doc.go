// SPDX-License-Identifier: Apache-2.0

// Package measure turns the audit log of one drain into numbers.
//
//	requests of the API server + whose are the drainer's + when it began and ended ─▶ Run
//
// It is pure: it counts what the API server has written down, and believes nothing that
// a contender says of itself but when it was done.
package measure
