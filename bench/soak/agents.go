// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/slipway-k8s/slipway/bench/internal/child"
	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// agentUser is who agents are.
const agentUser = "system:serviceaccount:" + devcluster.Namespace + ":" + devcluster.AgentServiceAccount

// measureAgents watches agents in one process, at rest and while they drain their nodes. It returns
// which they drained.
func (g *stage) measureAgents(ctx context.Context, r *results, nodes []string) (drained []string, err error) {
	if g.settings.mostAgents() == 0 {
		return nil, nil
	}
	if err := g.cluster.CreateAgentPods(ctx); err != nil {
		return nil, err
	}
	p, err := g.startAgents(ctx)
	if err != nil {
		return nil, err
	}
	defer p.close()
	ctx, stop := p.While(ctx)
	defer stop()
	defer func() {
		if err != nil {
			err = errors.Join(p.Ended(), err)
		}
	}()
	r.Agents = &fleet{}
	running := 0
	for _, size := range g.settings.agents {
		if err := g.addAgents(ctx, p, nodes[running:size]); err != nil {
			return nil, err
		}
		running = size
		rest := atRest{Size: size, Pods: r.Pods}
		if err := g.rest(ctx, &rest, p.PID()); err != nil {
			return nil, err
		}
		r.Agents.Rest = append(r.Agents.Rest, rest)
	}
	for _, n := range g.settings.agentSteps {
		s, err := g.drain(ctx, p.PID(), nodes[len(drained):len(drained)+n])
		if err != nil {
			return drained, err
		}
		drained = nodes[:len(drained)+n]
		r.Agents.Steps = append(r.Agents.Steps, s)
	}
	return drained, nil
}

// addAgents starts the agents of further nodes, and returns when each has returned its node, which
// nobody has taken out of service: it works.
func (g *stage) addAgents(ctx context.Context, p *agentsProcess, nodes []string) error {
	g.say("starting %d agents", len(nodes))
	for _, node := range nodes {
		config, err := g.cluster.AgentConfig(ctx, node)
		if err != nil {
			return err
		}
		kubeconfig := filepath.Join(p.dir, node+".kubeconfig")
		if err := devcluster.WriteKubeconfig(kubeconfig, config); err != nil {
			return err
		}
		if err := p.add(agentOf{Node: node, Kubeconfig: kubeconfig, Dir: filepath.Join(p.dir, node)}); err != nil {
			return err
		}
	}
	_, err := g.carryOut(ctx, returnTransition, nodes)
	return err
}

// count counts the agents' requests.
func (f *fleet) count(requests []auditlog.Request) {
	for i := range f.Rest {
		f.Rest[i].count(requests, agentUser)
	}
	for i := range f.Steps {
		f.Steps[i].count(requests, agentUser)
	}
}

// agentsProcess is a process with many agents in it: this program, told to be that.
type agentsProcess struct {
	*child.Process
	dir    string
	orders io.WriteCloser
}

func (g *stage) startAgents(ctx context.Context) (*agentsProcess, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// Short, because unix sockets are in it.
	p := &agentsProcess{dir: filepath.Join(g.dir, "a")}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, program)
	command.Env = append(os.Environ(), beAgents+"=yes")
	command.Stderr = g.progress
	if p.orders, err = command.StdinPipe(); err != nil {
		return nil, err
	}
	if p.Process, err = child.Start("the process of the agents", command); err != nil {
		return nil, err
	}
	return p, nil
}

// add has it start one more agent.
func (p *agentsProcess) add(a agentOf) error {
	if _, err := fmt.Fprintln(p.orders, a); err != nil {
		return fmt.Errorf("start the agent of %s: %w", a.Node, err)
	}
	return nil
}

// close ends the process.
func (p *agentsProcess) close() {
	_ = p.orders.Close() // it has ended, or is killed now
	_ = p.Kill()
}
