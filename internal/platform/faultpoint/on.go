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

// Reach stops the goroutine when it comes to the point that SLIPWAY_FAULTPOINT names
// for the first time, after it has said so on standard error. SIGCONT lets it go on.
func Reach(name string) {
	if os.Getenv("SLIPWAY_FAULTPOINT") != name || reached.Swap(true) {
		return
	}
	release := make(chan os.Signal, 1)
	signal.Notify(release, syscall.SIGCONT)
	fmt.Fprintf(os.Stderr, "fault point reached: %s\n", name)
	<-release
}
