// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/slipway-k8s/slipway/internal/devcluster"
)

// binaries are the programs under test, built once: with the race detector, and with
// fault points.
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

func build() error {
	root, err := devcluster.Root()
	if err != nil {
		return err
	}
	if binaries.dir, err = os.MkdirTemp("", "slipway-bin-"); err != nil {
		return err
	}
	command := exec.Command("go", "build", "-race", "-tags=faultpoints", "-o", binaries.dir+"/", "./cmd/...", "./examples/...")
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs under test: %w\n%s", err, out)
	}
	return nil
}
