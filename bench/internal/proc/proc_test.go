// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"os"
	"testing"
)

func TestOwnProcess(t *testing.T) {
	if kib, err := Memory(os.Getpid(), "VmHWM"); err != nil || kib <= 0 {
		t.Errorf("memory is %d KiB, %v", kib, err)
	}
	if _, err := Memory(os.Getpid(), "VmNothing"); err == nil {
		t.Error("a field that is not there was found")
	}
	if seconds, err := CPU(os.Getpid()); err != nil || seconds < 0 {
		t.Errorf("CPU time is %f s, %v", seconds, err)
	}
	if busy, all, err := Machine(); err != nil || busy <= 0 || all < busy {
		t.Errorf("the machine was busy for %f s of %f s, %v", busy, all, err)
	}
}
