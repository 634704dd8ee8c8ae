// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// Spec says what to start.
type Spec struct {
	// Path is the program; Args are its arguments without its name.
	Path string
	Args []string
	// Env is the whole environment.
	Env []string
	// Dir is the working directory.
	Dir string
	// Log receives what the process writes; an existing file is continued.
	Log string
}

// Start starts the process in a session of its own: neither a signal to the
// starter's terminal nor the starter's end reaches it.
func Start(spec Spec) (Identity, error) {
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return Identity{}, fmt.Errorf("open the log of %s: %w", spec.Path, err)
	}
	defer func() { _ = log.Close() }() // the process has its own descriptor

	// Deliberately without a context: the process must outlive this one.
	command := exec.Command(spec.Path, spec.Args...) //nolint:noctx // see above
	command.Env = spec.Env
	command.Dir = spec.Dir
	command.Stdout = log
	command.Stderr = log
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return Identity{}, fmt.Errorf("start %s: %w", spec.Path, err)
	}
	// Identified before it is waited for: until then its id cannot be reused.
	identity, err := Observe(command.Process.Pid)
	// Collected when it ends, for as long as this process lives; after that,
	// init does it. Its exit code is of no interest: health is what counts.
	go func() { _ = command.Wait() }()
	if err != nil {
		return Identity{}, fmt.Errorf("start %s: %w", spec.Path, err)
	}
	return identity, nil
}
