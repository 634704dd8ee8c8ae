// SPDX-License-Identifier: Apache-2.0

// Package architecture compares docs/architecture.md with the code: its areas, who may
// import whom, its packages, and which of them are pure.
package architecture
