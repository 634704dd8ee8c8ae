// SPDX-License-Identifier: Apache-2.0

// Package controller has Slipway's controller as a process, with a token of its service
// account and the rights that its flags need.
package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/slipway-k8s/slipway/bench/internal/proc"
	"github.com/slipway-k8s/slipway/internal/devcluster"
)

// User is who the controller is.
const User = "system:serviceaccount:" + devcluster.Namespace + ":" + devcluster.ControllerServiceAccount

// Options of a controller.
type Options struct {
	// Binary is its path; Dir is for its files.
	Binary, Dir string
	// Config are folders of config/ that are applied before: further rights and policies.
	Config []string
	// Flags are those besides where the cluster is.
	Flags []string
}

// Process is a controller that runs.
type Process struct {
	command *exec.Cmd
	log     *os.File
	gone    chan struct{} // closed when it has ended
	why     error
}

// Start starts the controller of a cluster. It ends with ctx, with this process, or with
// Kill.
func Start(ctx context.Context, cluster *devcluster.Cluster, o Options) (*Process, error) {
	root, err := devcluster.Root()
	if err != nil {
		return nil, err
	}
	for _, folder := range o.Config {
		apply := exec.CommandContext(ctx, cluster.Kubectl, "--kubeconfig="+cluster.Kubeconfig,
			"apply", "-f", filepath.Join(root, "config", filepath.FromSlash(folder)))
		if out, err := apply.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("apply config/%s: %w\n%s", folder, err, out)
		}
	}
	config, err := cluster.ControllerConfig(ctx)
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(o.Dir, "kubeconfig")
	if err := devcluster.WriteKubeconfig(kubeconfig, config); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(o.Dir, "controller.log"))
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, o.Binary, append([]string{
		"--kubeconfig=" + kubeconfig, "--socket-dir=" + o.Dir, "--health-probe-bind-address=0",
	}, o.Flags...)...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start the controller: %w", err)
	}
	p := &Process{command: command, log: log, gone: make(chan struct{})}
	go func() {
		defer close(p.gone)
		p.why = command.Wait()
	}()
	return p, nil
}

// While is a context that ends with the process, and says why that ended. Without it, who waits
// for what the controller does would wait for ever.
func (p *Process) While(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-p.gone:
			cancel(fmt.Errorf("the controller has ended: %w", errors.Join(p.why, io.ErrUnexpectedEOF)))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// PID is its process id.
func (p *Process) PID() int { return p.command.Process.Pid }

// Memory reads a field of its status, in KiB: VmRSS, VmHWM.
func (p *Process) Memory(field string) (int, error) {
	return proc.Memory(p.command.Process.Pid, field)
}

// Kill ends it at once.
func (p *Process) Kill() error {
	err := p.command.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-p.gone
	_ = p.log.Close()
	return err
}

// Tail is the end of its log.
func (p *Process) Tail() string {
	const enough = 4096
	text, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-enough):])
}
