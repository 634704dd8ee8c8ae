// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"os/exec"
	"testing"
)

// Only of a command that somebody runs through the launcher is it known that it has said
// what is wrong: the failure of one that the launcher runs for itself must be printed.
func TestWhoseFailureItIs(t *testing.T) {
	failed := exec.Command("sh", "-c", "exit 7").Run()
	cases := map[string]struct {
		err  error
		code int
	}{
		"a command's own":           {ofCommand(errors.Join(failed, nil)), 7},
		"not of a command":          {ofCommand(errors.ErrUnsupported), 0},
		"of what the launcher runs": {fmt.Errorf("go build: %w", failed), 0},
		"nothing is wrong":          {ofCommand(nil), 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			code := 0
			if ended, is := errors.AsType[*endedError](tc.err); is {
				code = ended.code
			}
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
		})
	}
}
