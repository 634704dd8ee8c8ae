// SPDX-License-Identifier: Apache-2.0

package responders

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/slipway-k8s/slipway/test/harness"
)

// binaries are the programs that people have when they follow the how-to. Those of
// [harness.Binary], with the race detector and fault points, take far longer to build.
var binaries struct {
	once sync.Once
	dir  string
	err  error
}

func binary(t *testing.T, name string) string {
	t.Helper()
	binaries.once.Do(func() {
		if binaries.dir, binaries.err = os.MkdirTemp("", "responders-"); binaries.err != nil {
			return
		}
		command := exec.Command("go", "build", "-o", binaries.dir+"/", "./cmd/controller", "./examples/backup-responder")
		command.Dir = harness.File(t)
		if out, err := command.CombinedOutput(); err != nil {
			binaries.err = fmt.Errorf("build: %w\n%s", err, out)
		}
	})
	if binaries.err != nil {
		t.Fatal(binaries.err)
	}
	return filepath.Join(binaries.dir, name)
}
