// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// kubectl runs kubectl as the cluster's administrator, with input on its standard
// input, and returns what it says.
type kubectl struct {
	path, kubeconfig, dir string
}

func (k kubectl) run(ctx context.Context, input []byte, args ...string) (string, error) {
	command := exec.CommandContext(ctx, k.path, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+k.kubeconfig)
	command.Dir = k.dir
	command.Stdin = bytes.NewReader(input)
	// Out of the terminal's reach: Ctrl-C is for this process, which ends kubectl.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var complaints bytes.Buffer
	command.Stderr = &complaints
	out, err := command.Output()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, strings.TrimSpace(complaints.String()))
	}
	return strings.TrimRight(string(out), "\n"), nil
}

// quote is the argument as it would be typed.
func quote(arg string) string {
	if strings.ContainsAny(arg, " '\"{}[]()?@$*") {
		return "'" + arg + "'"
	}
	return arg
}
