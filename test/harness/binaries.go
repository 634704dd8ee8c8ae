// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/slipway-k8s/slipway/internal/devcluster"
)

// binaries are the programs under test: with the race detector, and with fault points. They
// stay where they are, so that the tests of the next package need not link them again.
var binaries struct {
	once sync.Once
	dir  string
	err  error
}

// Binary is the path of a program of this repository: "node-agent", "drain-driver".
func Binary(t *testing.T, name string) string {
	t.Helper()
	binaries.once.Do(func() { binaries.err = build() })
	if binaries.err != nil {
		t.Fatal(binaries.err)
	}
	return filepath.Join(binaries.dir, name)
}

// build takes turns with the tests of other packages.
func build() error {
	root, err := devcluster.Root()
	if err != nil {
		return err
	}
	binaries.dir = filepath.Join(root, ".cache", "under-test")
	if err := os.MkdirAll(binaries.dir, 0o700); err != nil {
		return err
	}
	turn, err := os.OpenFile(filepath.Join(binaries.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer turn.Close() // which ends the turn
	if err := unix.Flock(int(turn.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("wait for those who build %s: %w", binaries.dir, err)
	}
	command := exec.Command("go", "build", "-race", "-tags=faultpoints", "-o", binaries.dir+"/", "./cmd/...", "./examples/...")
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs under test: %w\n%s", err, out)
	}
	return nil
}
