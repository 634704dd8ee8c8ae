// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/devcluster"
)

// The users that Slipway's programs are to the API server.
const (
	AgentUser      = "system:serviceaccount:" + devcluster.Namespace + ":" + devcluster.AgentServiceAccount
	ControllerUser = "system:serviceaccount:" + devcluster.Namespace + ":" + devcluster.ControllerServiceAccount
)

// Process is a program that runs, or has ended.
type Process struct {
	name    string
	command *exec.Cmd
	log     string        // path
	gone    chan struct{} // closed when the process has ended
	why     error
}

// Start starts a program with a separate log. The process ends with the cluster, or with this process. Errors use the
// name, as in "the controller".
func (c *Cluster) Start(name string, command *exec.Cmd) (*Process, error) {
	log, err := os.CreateTemp(c.Dir, "*.log")
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the process has its own
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &Process{name: name, command: command, log: log.Name(), gone: make(chan struct{})}
	c.processes = append(c.processes, p)
	go func() {
		defer close(p.gone)
		p.why = command.Wait()
	}()
	return p, nil
}

// PID returns the process id.
func (p *Process) PID() int { return p.command.Process.Pid }

// Ended returns nil while the process runs. Afterwards it returns how the process ended, with
// the end of its log.
func (p *Process) Ended() error {
	select {
	case <-p.gone:
		return fmt.Errorf("%s has ended: %w; its log:\n%s", p.name, errors.Join(p.why, io.ErrUnexpectedEOF), p.Tail())
	default:
		return nil
	}
}

// While returns a context that ends with the processes: with the first that ends, whose
// [Process.Ended] is the cause.
func While(ctx context.Context, processes ...*Process) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	for _, p := range processes {
		go func() {
			select {
			case <-p.gone:
				cancel(p.Ended())
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() { cancel(nil) }
}

// Stop asks the process to end, and kills it when that takes too long.
func (p *Process) Stop() error {
	const patience = 10 * time.Second
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.gone:
		return nil
	case <-time.After(patience):
		return p.Kill()
	}
}

// Kill ends the process at once, if it has not ended.
func (p *Process) Kill() error {
	err := p.command.Process.Kill()
	<-p.gone
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// Tail returns the end of the log.
func (p *Process) Tail() string {
	const enough = 4096
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-enough):])
}

// Mode is a mode of the controller: the folders of config/ with further permissions and policies that it needs, and
// its flags.
type Mode struct{ Folders, Flags []string }

// The modes of a controller.
var (
	// Central: the controller drains all nodes itself.
	Central = Mode{[]string{"rbac/central"}, []string{"--builtin-drivers=drain"}}
	// Evicting: the controller acts on EvictionRequests.
	Evicting = Mode{[]string{"rbac/evictions", "admission/evictions"}, []string{"--eviction-requests"}}
)

// StartController applies what the modes need, and starts the controller.
func (c *Cluster) StartController(ctx context.Context, binary string, flags []string, modes ...Mode) (*Process, error) {
	for _, mode := range modes {
		if err := c.InstallFolders(ctx, mode.Folders...); err != nil {
			return nil, err
		}
		flags = append(flags, mode.Flags...)
	}
	config, err := c.ControllerConfig(ctx)
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(c.Dir, "controller.kubeconfig")
	if err := devcluster.WriteKubeconfig(kubeconfig, config); err != nil {
		return nil, err
	}
	return c.Start("the controller", exec.CommandContext(ctx, binary, append([]string{
		"--kubeconfig=" + kubeconfig, "--health-probe-bind-address=0",
	}, flags...)...))
}

// LeaveToAgents removes the marks that a controller with drivers has left on transitions: agents leave their events to it.
func (c *Cluster) LeaveToAgents(ctx context.Context) error {
	var all lifecyclev1alpha1.LifecycleTransitionList
	if err := c.Objects.List(ctx, &all); err != nil {
		return fmt.Errorf("list the transitions: %w", err)
	}
	unmark := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, lifecyclev1alpha1.RegisteredCentrallyAnnotation))
	for i := range all.Items {
		if err := c.Objects.Patch(ctx, &all.Items[i], unmark); err != nil {
			return fmt.Errorf("remove the mark of transition %s: %w", all.Items[i].Name, err)
		}
	}
	return nil
}

// StartAgents starts the agents of nodes, each with the token of its own pod.
func (c *Cluster) StartAgents(ctx context.Context, binary string, nodes []string) ([]*Process, error) {
	if err := c.LeaveToAgents(ctx); err != nil {
		return nil, err
	}
	agents := make([]*Process, len(nodes))
	for i, node := range nodes {
		kubeconfig, err := c.AgentKubeconfig(ctx, node)
		if err != nil {
			return nil, err
		}
		command := c.AgentCommand(node, binary, "--kubeconfig="+kubeconfig)
		if agents[i], err = c.Start("the agent of "+node, exec.CommandContext(ctx, command[0], command[1:]...)); err != nil {
			return nil, err
		}
	}
	return agents, nil
}

// AgentKubeconfig writes a kubeconfig with the token of a node's agent pod, and returns its path.
func (c *Cluster) AgentKubeconfig(ctx context.Context, node string) (string, error) {
	if !c.agentPods {
		if err := c.CreateAgentPods(ctx); err != nil {
			return "", err
		}
		c.agentPods = true
	}
	path := filepath.Join(c.Dir, node+".kubeconfig")
	config, err := c.AgentConfig(ctx, node)
	if err != nil {
		return "", err
	}
	return path, devcluster.WriteKubeconfig(path, config)
}

// StopAll stops processes, all at once.
func StopAll(processes []*Process) error {
	var all errgroup.Group
	for _, p := range processes {
		all.Go(p.Stop)
	}
	return all.Wait()
}
