// SPDX-License-Identifier: Apache-2.0

// Package outage tests what becomes of drains when the control plane is away. Each
// test has a cluster of its own.
package outage
