// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/slipway-k8s/slipway/responderkit"
)

// command is the command to run, with its arguments.
type command []string

// backUp is the responder: the kit calls it when the responder is active, and again after
// a restart.
func (c command) backUp(ctx context.Context, e responderkit.Eviction, report func(responderkit.Progress)) error {
	switch _, err := e.ReadPod(ctx); {
	case errors.Is(err, responderkit.ErrPodGone):
		return nil // the command would find another pod, or none
	case err != nil:
		return err
	}
	args := c.about(e)
	report(responderkit.Progress{Message: "running " + strings.Join(args, " ")})
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	// A separate process group: child processes end with the command.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second

	output, err := cmd.CombinedOutput()
	if ctx.Err() != nil && cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // fails if the group has no processes
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", args[0], err, bytes.TrimSpace(output))
	}
	report(responderkit.Progress{Message: "the backup is complete"})
	return nil
}

// about replaces the placeholders of the command by the values of the pod.
func (c command) about(e responderkit.Eviction) []string {
	fill := strings.NewReplacer("{namespace}", e.Namespace, "{pod}", e.PodName, "{uid}", string(e.PodUID))
	var args []string
	for _, arg := range c {
		args = append(args, fill.Replace(arg))
	}
	return args
}
