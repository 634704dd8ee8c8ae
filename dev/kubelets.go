// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/slipway-k8s/slipway/internal/devcluster"
)

// newKubelets returns the command that 'up' leaves running beside the cluster.
func newKubelets(local where) *cobra.Command {
	return &cobra.Command{
		Use:    "kubelets",
		Short:  "Start a process for each pod of Slipway on the local cluster, until it is taken down",
		Hidden: true, // 'up' starts it
		Args:   cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			here, err := local()
			if err != nil {
				return err
			}
			lock, err := here.openLock()
			if err != nil {
				return err
			}
			defer func() { _ = lock.Close() }() // the lock ends with the process
			if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
				return fmt.Errorf("another process has %s: %w", lock.Name(), err)
			}
			if _, err := fmt.Fprintf(lock, "%10d", os.Getpid()); err != nil { // as long as the one before
				return err
			}
			c, err := devcluster.Attach(command.Context(), devcluster.Options{Dir: here.cluster(), Stderr: command.ErrOrStderr()})
			if err != nil {
				return err
			}
			return here.followPods(command.Context(), c, func(what string) { fmt.Fprintln(command.OutOrStdout(), what) })
		},
	}
}

func (p place) followPods(ctx context.Context, c *devcluster.Cluster, report func(string)) error {
	return c.FollowPods(ctx, p.bin(), p.kubelets(), report)
}

// openLock opens the file that the process of kubelets locks, with its process id in it.
func (p place) openLock() (*os.File, error) {
	if err := os.MkdirAll(p.kubelets(), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(p.kubelets(), "lock"), os.O_CREATE|os.O_RDWR, 0o600)
}

// startKubelets starts the kubelets in the background.
func (p place) startKubelets(ctx context.Context) error {
	log, err := os.Create(filepath.Join(p.kubelets(), "log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the process has its own
	self, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.CommandContext(context.WithoutCancel(ctx), self, "kubelets", "--dir", p.dir)
	command.Dir, command.Stdout, command.Stderr = p.root, log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it outlives this process and its terminal
	if err := command.Start(); err != nil {
		return fmt.Errorf("start the kubelets: %w", err)
	}
	return command.Process.Release()
}

// stopKubelets ends the kubelets, and waits until their process has ended.
func (p place) stopKubelets() error {
	lock, err := p.openLock()
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		return nil
	}
	var pid int
	if _, err := fmt.Fscan(lock, &pid); err != nil {
		return fmt.Errorf("read %s: %w", lock.Name(), err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("end the kubelets: %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("wait until the kubelets have ended: %w", err)
	}
	return nil
}
