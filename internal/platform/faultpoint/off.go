// SPDX-License-Identifier: Apache-2.0

//go:build !faultpoints

package faultpoint

// Reach does nothing.
func Reach(string) {}
