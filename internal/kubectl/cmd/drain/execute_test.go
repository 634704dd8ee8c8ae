// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"testing"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli/clitest"
)

// execute runs a command line of this group, and returns what it prints and its exit code.
func execute(t *testing.T, args ...string) (out, errOut string, code int) {
	t.Helper()
	return clitest.Execute(t, Commands, args...)
}
