// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"testing"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli/clitest"
)

// execute runs a command line of any group, and returns what it prints and its exit code.
func execute(t *testing.T, args ...string) (out, errOut string, code int) {
	t.Helper()
	return clitest.Execute(t, commands, args...)
}
