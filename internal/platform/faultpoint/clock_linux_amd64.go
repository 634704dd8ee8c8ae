// SPDX-License-Identifier: Apache-2.0

//go:build faultpoints

package faultpoint

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// vdsoClockgettimeSym is the address of the runtime's time function.
//
//go:linkname vdsoClockgettimeSym runtime.vdsoClockgettimeSym
var vdsoClockgettimeSym uintptr

// The function in assembly uses the address of the real function, and the error of the clock in seconds.
var (
	truth  uintptr
	offset *int64
)

// shiftedClock is the address of the function in assembly.
func shiftedClock() uintptr

// If SLIPWAY_CLOCK names a file, its first 8 bytes are the current error of the clock in seconds. Durations stay right, as
// on a machine whose clock is set.
var _ = setClock(os.Getenv("SLIPWAY_CLOCK"))

func setClock(path string) bool {
	if path == "" || vdsoClockgettimeSym == 0 {
		return false
	}
	file, err := os.Open(path)
	if err != nil {
		fmt.Fprintf(os.Stderr, "SLIPWAY_CLOCK: %v\n", err)
		os.Exit(1)
	}
	defer file.Close() // what is mapped stays
	mapped, err := syscall.Mmap(int(file.Fd()), 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		fmt.Fprintf(os.Stderr, "SLIPWAY_CLOCK: map %s: %v\n", path, err)
		os.Exit(1)
	}
	offset = (*int64)(unsafe.Pointer(&mapped[0]))
	truth, vdsoClockgettimeSym = vdsoClockgettimeSym, shiftedClock()
	return true
}
