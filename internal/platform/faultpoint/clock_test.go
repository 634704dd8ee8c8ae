// SPDX-License-Identifier: Apache-2.0

package faultpoint

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestTheClockOfABinaryForTestsJumps runs [TestJump], in a process whose clock can.
func TestTheClockOfABinaryForTestsJumps(t *testing.T) {
	if runtime.GOOS+runtime.GOARCH != "linuxamd64" {
		t.Skip("only on linux/amd64 clocks can jump")
	}
	if os.Getenv(clockFile) != "" {
		t.Skip("this is the process whose clock jumps")
	}
	path := filepath.Join(t.TempDir(), "clock")
	if err := os.WriteFile(path, make([]byte, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("go", "test", "-count=1", "-tags=faultpoints", "-run=^TestJump$", "-v", ".")
	command.Env = append(os.Environ(), clockFile+"="+path)
	out, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestJump") {
		t.Fatalf("%v: %s", err, out)
	}
}

const clockFile = "SLIPWAY_CLOCK"
