// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/slipway-k8s/slipway/internal/devcluster"
)

// newKubelets is what goes on beside a cluster that stays.
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
			release, err := here.hold()
			if err != nil {
				return err
			}
			defer release()
			c, err := devcluster.Attach(command.Context(), devcluster.Options{Dir: here.cluster(), Stderr: command.ErrOrStderr()})
			if err != nil {
				return err
			}
			return c.FollowPods(command.Context(), filepath.Join(here.root, "bin"), func(what string) { fmt.Fprintln(command.OutOrStdout(), what) })
		},
	}
}

// kubeletsLock is held, with its process id in it, by who plays the kubelets.
func (p place) kubeletsLock() string { return filepath.Join(p.dir, "kubelets.lock") }
func (p place) kubeletsLog() string  { return filepath.Join(p.dir, "kubelets.log") }

var errPlayed = errors.New("somebody plays the kubelets already")

// hold takes the lock, which goes with the process.
func (p place) hold() (release func(), err error) {
	file, err := os.OpenFile(p.kubeletsLock(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(errPlayed, file.Close())
	}
	if err := errors.Join(file.Truncate(0), writeTo(file, strconv.Itoa(os.Getpid()))); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { _ = file.Close() }, nil
}

func writeTo(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

// startKubelets starts it in the background, unless it runs.
func (p place) startKubelets(ctx context.Context) error {
	release, err := p.hold()
	if errors.Is(err, errPlayed) {
		return nil
	} else if err != nil {
		return err
	}
	release()
	log, err := os.Create(p.kubeletsLog())
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
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it stays when this process and its terminal go
	if err := command.Start(); err != nil {
		return fmt.Errorf("start who plays the kubelets: %w", err)
	}
	return command.Process.Release()
}

// stopKubelets ends it, and waits until it has ended.
func (p place) stopKubelets() error {
	release, err := p.hold()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil:
		release()
		return p.forgetKubelets()
	case !errors.Is(err, errPlayed):
		return err
	}
	text, err := os.ReadFile(p.kubeletsLock())
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("read %s: %w", p.kubeletsLock(), err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("end who plays the kubelets: %w", err)
	}
	file, err := os.Open(p.kubeletsLock())
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // nothing was written
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("wait until nobody plays the kubelets: %w", err)
	}
	return p.forgetKubelets()
}

func (p place) forgetKubelets() error {
	for _, path := range []string{p.kubeletsLock(), p.kubeletsLog()} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
