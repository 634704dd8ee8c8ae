// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/slipway-k8s/slipway/bench/internal/testbed"
	draindriver "github.com/slipway-k8s/slipway/internal/drainer/driver"
	"github.com/slipway-k8s/slipway/internal/lifecycle/agent"
	"github.com/slipway-k8s/slipway/internal/platform/identity"
	"github.com/slipway-k8s/slipway/internal/platform/telemetry"
)

// agentsVariable makes this program a process with many agents in it.
const agentsVariable = "SLIPWAY_SOAK_AGENTS"

// AreAgents reports whether this process is a process for agents, which only calls [RunAgents].
func AreAgents() bool { return os.Getenv(agentsVariable) != "" }

// measureAgents watches agents in one process, at rest and while they drain their nodes. It returns
// which they drained.
func (g *scale) measureAgents(ctx context.Context, r *Results, nodes []string) (drained []string, err error) {
	if g.settings.mostAgents() == 0 {
		return nil, nil
	}
	dir := filepath.Join(g.Dir, "a") // short, because unix sockets are in it
	if err := g.LeaveToAgents(ctx); err != nil {
		return nil, err
	}
	p, orders, err := g.startAgents(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Ended(), orders.Close(), p.Kill()) }()
	ctx, stop := testbed.While(ctx, p)
	defer stop()
	r.Agents = &fleet{}
	running := 0
	for _, size := range g.settings.Agents {
		g.Printf("starting %d agents", size-running)
		for _, node := range nodes[running:size] {
			kubeconfig, err := g.AgentKubeconfig(ctx, node)
			if err != nil {
				return nil, err
			}
			if err := json.NewEncoder(orders).Encode(agentOf{node, kubeconfig, filepath.Join(dir, node)}); err != nil {
				return nil, fmt.Errorf("start the agent of %s: %w", node, err)
			}
		}
		// Each agent returns its node, which is in service: this shows that it works.
		if _, err := g.Transition(ctx, testbed.Uncordon, nodes[running:size], 0); err != nil {
			return nil, err
		}
		running = size
		rest := atRest{Size: size, Pods: r.Pods}
		if err := g.rest(ctx, &rest, p.PID()); err != nil {
			return nil, err
		}
		r.Agents.Rest = append(r.Agents.Rest, rest)
	}
	for _, n := range g.settings.AgentSteps {
		s, err := g.drain(ctx, p.PID(), nodes[len(drained):len(drained)+n])
		if err != nil {
			return drained, err
		}
		drained = nodes[:len(drained)+n]
		r.Agents.Steps = append(r.Agents.Steps, s)
	}
	return drained, nil
}

// startAgents starts this program as a process for agents. Each line of its input starts one.
func (g *scale) startAgents(ctx context.Context) (*testbed.Process, io.WriteCloser, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	command := exec.CommandContext(ctx, program)
	command.Env = append(os.Environ(), agentsVariable+"=yes")
	orders, err := command.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	p, err := g.Start("the process of the agents", command)
	return p, orders, err
}

// agentOf is the order to start the agent of a node: a line of JSON.
type agentOf struct {
	Node string `json:"node"`
	// Kubeconfig has the token of its pod, and Dir is for its sockets.
	Kubeconfig string `json:"kubeconfig"`
	Dir        string `json:"dir"`
}

// RunAgents starts an agent for each order, with the drain driver built in, as node-agent does. It
// ends with the orders, or with the first agent that ends.
func RunAgents(ctx context.Context, orders io.Reader) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	agents, ctx := errgroup.WithContext(ctx)
	agents.Go(func() error {
		defer stop()
		lines := bufio.NewScanner(orders)
		for lines.Scan() {
			var a agentOf
			if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
				return fmt.Errorf("read %q: %w", lines.Text(), err)
			}
			agents.Go(func() error { return a.run(ctx) })
		}
		return lines.Err()
	})
	return agents.Wait()
}

// node-agent has the same limits.
const (
	agentQPS   = 50
	agentBurst = 100
)

func (a agentOf) run(ctx context.Context) error {
	self, err := identity.Self(a.Kubeconfig, agentQPS, agentBurst)
	if err != nil {
		return err
	}
	self = alone(self, a.Node)
	serve := func(ctx context.Context, at net.Listener, asNode *rest.Config, drains *telemetry.Drains) error {
		return draindriver.Serve(ctx, self, draindriver.Options{
			Settings: draindriver.DefaultSettings(), BuiltIn: true, NodeName: a.Node, AsNode: asNode, Namespace: draindriver.DefaultNamespace,
			Listener: at, Observer: drains,
		})
	}
	err = agent.Run(ctx, self, agent.Options{
		NodeName: a.Node, ActAs: identity.ActAsNode,
		HealthAddress: "0", MetricsAddress: "0", Metrics: prometheus.NewRegistry(),
		Builtin: []agent.Builtin{{Name: draindriver.DefaultDriverName, Serve: serve}},
	})
	if err != nil {
		return fmt.Errorf("the agent of %s: %w", a.Node, err)
	}
	return nil
}

// alone gives an agent separate connections, as if it ran in a separate process: client-go shares them between
// clients whose authority is the same text. Lines around a certificate do not change it.
func alone(config *rest.Config, node string) *rest.Config {
	own := rest.CopyConfig(config)
	own.CAData = append([]byte("the authority, for "+node+"\n"), own.CAData...)
	return own
}
