// SPDX-License-Identifier: Apache-2.0

//go:build faultpoints

package faultpoint

import (
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

var reached atomic.Bool

// Reach stops the goroutine when it first reaches the point that SLIPWAY_FAULTPOINT names, and prints that on standard
// error. SIGCONT continues it.
func Reach(name string) {
	if os.Getenv("SLIPWAY_FAULTPOINT") != name || reached.Swap(true) {
		return
	}
	release := make(chan os.Signal, 1)
	signal.Notify(release, syscall.SIGCONT)
	fmt.Fprintf(os.Stderr, "fault point reached: %s\n", name)
	<-release
}
