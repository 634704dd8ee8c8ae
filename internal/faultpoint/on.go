// SPDX-License-Identifier: Apache-2.0

//go:build faultpoints

package faultpoint

import (
	"fmt"
	"os"
)

// Reach stops the goroutine for good at the point that SLIPWAY_FAULTPOINT names,
// after it has said so on standard error.
func Reach(name string) {
	if os.Getenv("SLIPWAY_FAULTPOINT") != name {
		return
	}
	fmt.Fprintf(os.Stderr, "fault point reached: %s\n", name)
	select {}
}
