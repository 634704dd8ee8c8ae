// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"k8s.io/apimachinery/pkg/util/wait"
)

// pollInterval is the period between two looks at a process that must end.
const pollInterval = 20 * time.Millisecond

// Identity identifies one process, now and later.
type Identity struct {
	PID int `json:"pid"`
	// Started is the start time in clock ticks since the machine booted.
	Started uint64 `json:"started"`
	// Boot is the ID that the kernel gave to that boot.
	Boot string `json:"boot"`
}

// Observe returns the identity of the process that has this ID now.
func Observe(pid int) (Identity, error) {
	identity, _, err := observe(pid)
	if err != nil {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	return identity, nil
}

// Alive reports whether this very process still runs. A process that has ended, but that its
// parent has not collected, does not.
func (i Identity) Alive() bool {
	if i.PID <= 0 {
		return false
	}
	now, status, err := observe(i.PID)
	return err == nil && now == i && !ended(status)
}

func observe(pid int) (Identity, procfs.ProcStat, error) {
	found, err := procfs.NewProc(pid)
	if err != nil {
		return Identity{}, procfs.ProcStat{}, err
	}
	status, err := found.Stat()
	if err != nil {
		return Identity{}, status, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return Identity{PID: pid, Started: status.Starttime, Boot: string(bytes.TrimSpace(boot))}, status, err
}

// ended reports whether the whole process has ended. The state is the state of its first thread, which has often
// ended while further threads still hold ports and connections.
func ended(status procfs.ProcStat) bool {
	return status.State == "X" || status.State == "Z" && status.NumThreads <= 1
}

// Spec defines a process to start.
type Spec struct {
	// Path is the program; Args are its arguments without its name.
	Path string
	Args []string
	// Env is the whole environment.
	Env []string
	// Dir is the working directory.
	Dir string
	// Log receives what the process writes. An existing file is continued.
	Log string
}

// Start starts the process in a separate session: neither a signal to the starter's terminal nor the starter's end
// reaches it.
func Start(spec Spec) (Identity, error) {
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return Identity{}, fmt.Errorf("open the log of %s: %w", spec.Path, err)
	}
	defer func() { _ = log.Close() }() // the process has its own descriptor

	command := exec.Command(spec.Path, spec.Args...) //nolint:noctx // it outlives every context
	command.Env = spec.Env
	command.Dir = spec.Dir
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return Identity{}, fmt.Errorf("start %s: %w", spec.Path, err)
	}
	// The kernel cannot reuse its ID before Wait, so identify it first.
	identity, err := Observe(command.Process.Pid)
	// This process collects it for as long as it lives; after that, init does. Its exit code does not matter: the
	// launcher checks its health.
	go func() { _ = command.Wait() }()
	if err != nil {
		return Identity{}, fmt.Errorf("start %s: %w", spec.Path, err)
	}
	return identity, nil
}

// Signal sends a signal, unless the process has ended.
func (i Identity) Signal(signal syscall.Signal) error {
	// The handle stays with one process, even if the kernel reuses the ID after this.
	found, err := os.FindProcess(i.PID)
	if err != nil {
		return fmt.Errorf("find process %d: %w", i.PID, err)
	}
	defer func() { _ = found.Release() }()
	if !i.Alive() {
		return nil
	}
	if err := found.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %s to process %d: %w", signal, i.PID, err)
	}
	return nil
}

// Stop ends the process: SIGTERM, then SIGKILL when it has not ended within the grace period or when ctx is done. It
// returns when the process has ended.
func Stop(ctx context.Context, process Identity, grace time.Duration) error {
	if err := process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if process.awaitEnd(ctx, grace) == nil {
		return nil
	}
	return Kill(process)
}

// Kill ends the process at once and returns when it has ended.
func Kill(process Identity) error {
	if err := process.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	// Not bound to the caller's context: a killed process ends, or the kernel is stuck.
	if err := process.awaitEnd(context.Background(), 10*time.Second); err != nil {
		return fmt.Errorf("process %d is still there after SIGKILL: %w", process.PID, err)
	}
	return nil
}

func (i Identity) awaitEnd(ctx context.Context, limit time.Duration) error {
	return wait.PollUntilContextTimeout(ctx, pollInterval, limit, true, func(context.Context) (bool, error) { return !i.Alive(), nil })
}

// KillStrays kills what descendants of our processes left behind: every process but this one
// whose environment has this "NAME=value" entry, which no other process may have by chance.
func KillStrays(marker string) error {
	const patience = 10 * time.Second
	clean := 0
	err := wait.PollUntilContextTimeout(context.Background(), pollInterval, patience, true, func(context.Context) (bool, error) {
		strays, err := withEnvironment(marker)
		if err != nil {
			return false, err
		}
		for _, stray := range strays {
			if err := Kill(stray); err != nil {
				return false, err
			}
		}
		clean++
		if len(strays) > 0 {
			clean = 0 // one of them may have started another meanwhile
		}
		// Twice: a process that is about to run another program shows no environment for a moment.
		return clean == 2, nil
	})
	if err != nil {
		return fmt.Errorf("kill the processes that have %s: %w", marker, err)
	}
	return nil
}

func withEnvironment(marker string) ([]Identity, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var found []Identity
	for _, candidate := range all {
		if candidate.PID == os.Getpid() || !hasEnvironment(candidate.PID, marker) {
			continue
		}
		if identity, err := Observe(candidate.PID); err == nil && identity.Alive() {
			found = append(found, identity)
		}
	}
	return found, nil
}

// hasEnvironment reads the environment that the process was started with, of any thread: a thread that has ended has
// none. The environment of another user's process cannot be read; the launcher did not start such a process.
func hasEnvironment(pid int, marker string) bool {
	threads, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "environ")) // the pattern is good
	return slices.ContainsFunc(threads, func(thread string) bool {
		environment, _ := os.ReadFile(thread)
		return slices.ContainsFunc(bytes.Split(environment, []byte{0}), func(entry []byte) bool { return string(entry) == marker })
	})
}
