// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/slipway-k8s/slipway/bench/internal/proc"
	"github.com/slipway-k8s/slipway/internal/devcluster"
)

// controllerUser is who the controller is.
const controllerUser = "system:serviceaccount:" + devcluster.Namespace + ":" + devcluster.ControllerServiceAccount

// controller is the process that is measured.
type controller struct {
	command *exec.Cmd
	log     *os.File
}

// startController starts it with a token of its service account, whose rights are those
// of central mode.
func (g *stage) startController(ctx context.Context) error {
	root, err := devcluster.Root()
	if err != nil {
		return err
	}
	rights := exec.CommandContext(ctx, g.cluster.Kubectl, "--kubeconfig="+g.cluster.Kubeconfig,
		"apply", "-f", filepath.Join(root, "config", "rbac", "central"))
	if out, err := rights.CombinedOutput(); err != nil {
		return fmt.Errorf("give the controller its rights: %w\n%s", err, out)
	}
	config, err := g.cluster.ControllerConfig(ctx)
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(g.dir, "kubeconfig")
	if err := devcluster.WriteKubeconfig(kubeconfig, config); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(g.dir, "controller.log"))
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, g.settings.controller, "--claim-mode=central", "--kubeconfig="+kubeconfig,
		"--socket-dir="+g.dir, "--health-probe-bind-address=0")
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start the controller: %w", err)
	}
	g.controller = &controller{command: command, log: log}
	return nil
}

// memory reads a field of its status, in KiB: VmRSS, VmHWM.
func (c *controller) memory(field string) (int, error) {
	return proc.Memory(c.command.Process.Pid, field)
}

func (c *controller) kill() error {
	err := c.command.Process.Kill()
	_ = c.command.Wait() // it was killed
	_ = c.log.Close()
	return err
}

// tail is the end of its log.
func (c *controller) tail() string {
	const enough = 4096
	text, err := os.ReadFile(c.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-enough):])
}
