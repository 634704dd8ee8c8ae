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

// command is the command to run, with its arguments.
type command []string

// run is the driver: the kit calls it in the background, and again after a restart.
func (c command) run(ctx context.Context, call driverkit.Call, report func(driverkit.Answer)) error {
	cmd := exec.CommandContext(ctx, c[0], c[1:]...)
	cmd.Env = append(os.Environ(),
		"NODE_NAME="+call.Node, "EVENT_NAME="+call.Event, "EVENT_UID="+call.EventUID, "PARAMETERS="+string(call.Parameters))
	// A separate process group: child processes end with the command.
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
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // fails if the group has no processes
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", c[0], err, last)
	}
	return nil
}

// reportLines reports each line of the output as the event's message, and returns the last line.
func reportLines(output *io.PipeReader, report func(driverkit.Answer)) (last string) {
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if last = lines.Text(); last != "" {
			report(driverkit.Answer{Message: last})
		}
	}
	_, _ = io.Copy(io.Discard, output) // after an overlong line: the command must not block
	return last
}
