// SPDX-License-Identifier: Apache-2.0

// Package controller has Slipway's controller as a process, with a token of its service
// account and the rights that its flags need.
package controller

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/slipway-k8s/slipway/bench/internal/child"
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
	*child.Process
	log *os.File
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
	process, err := child.Start("the controller", command)
	if err != nil {
		return nil, err
	}
	return &Process{Process: process, log: log}, nil
}

// Memory reads a field of its status, in KiB: VmRSS, VmHWM.
func (p *Process) Memory(field string) (int, error) {
	return proc.Memory(p.PID(), field)
}

// Kill ends it at once.
func (p *Process) Kill() error {
	err := p.Process.Kill()
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
