// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

func TestInstallAndUninstallOutlastWhoReadsWhatTheyShow(t *testing.T) {
	for _, command := range []string{"install", "uninstall"} {
		t.Run(command, func(t *testing.T) {
			defer signal.Reset(syscall.SIGPIPE)
			execute(t, command, "--yes", "--server=http://127.0.0.1:1", "--kubeconfig=")
			if !signal.Ignored(syscall.SIGPIPE) {
				t.Error("SIGPIPE ends it")
			}
		})
	}
}

func TestWhatNobodyReadsIsLost(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(writer, "applied"); err == nil {
		t.Fatal("somebody reads it")
	}
	if _, err := fmt.Fprintln(outlasting{writer}, "applied"); err != nil {
		t.Error(err)
	}
	if _, err := fmt.Fprintln(outlasting{failing{}}, "applied"); err == nil {
		t.Error("other errors are lost, too")
	}
}

// failing is a disk that is full.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, syscall.ENOSPC }
