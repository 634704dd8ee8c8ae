// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
)

func TestWhoIsAskedToEndHasNotFailed(t *testing.T) {
	failed := errors.New("the disk is full")
	for name, tc := range map[string]struct {
		run  func(command *cobra.Command) error
		want int
	}{
		"it is done":    {func(*cobra.Command) error { return nil }, 0},
		"it has failed": {func(*cobra.Command) error { return failed }, 1},
		"it is asked to end while it waits": {func(command *cobra.Command) error {
			return fmt.Errorf("ask the API server: %w", asked(t, command))
		}, 0},
		"it fails when it is asked to end": {func(command *cobra.Command) error {
			_ = asked(t, command)
			return failed
		}, 1},
	} {
		command := &cobra.Command{Use: "test", RunE: func(command *cobra.Command, _ []string) error { return tc.run(command) }}
		command.SetArgs(nil)
		if got := Main(command); got != tc.want {
			t.Errorf("%s: exit code %d, want %d", name, got, tc.want)
		}
	}
}

// asked is what the command's context says when the process has been asked to end.
func asked(t *testing.T, command *cobra.Command) error {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-command.Context().Done()
	return command.Context().Err()
}
