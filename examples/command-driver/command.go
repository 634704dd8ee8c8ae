// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/slipway-k8s/slipway/driverkit"
)

// command is what is run, with its arguments.
type command []string

// run is the driver: the kit calls it in the background, and again after a restart.
func (c command) run(ctx context.Context, call driverkit.Call, report func(driverkit.Answer)) error {
	cmd := exec.CommandContext(ctx, c[0], c[1:]...)
	cmd.Env = append(os.Environ(),
		"NODE_NAME="+call.Node, "EVENT_NAME="+call.Event, "EVENT_UID="+call.EventUID, "PARAMETERS="+string(call.Parameters))
	// What the command has started ends with it: it is a process group of its own.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second

	output, input := io.Pipe()
	cmd.Stdout, cmd.Stderr = input, input
	lastLine := make(chan string, 1)
	go func() { lastLine <- reportLines(output, report) }()
	err := cmd.Run()
	_ = input.Close() // a pipe's Close does not fail
	last := <-lastLine
	if ctx.Err() != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // fails when nothing is left of the group
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", c[0], err, last)
	}
	return nil
}

// reportLines makes each line of the output the event's message, and returns the last.
func reportLines(output *io.PipeReader, report func(driverkit.Answer)) (last string) {
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if last = lines.Text(); last != "" {
			report(driverkit.Answer{Message: last})
		}
	}
	_, _ = io.Copy(io.Discard, output) // after a line too long: the command must not block
	return last
}
