// SPDX-License-Identifier: Apache-2.0

// Package homes tests the walk in each of the two API groups that LifecycleEvents can
// be in, and what happens when a server moves them. Each test has a cluster of its own.
package homes
