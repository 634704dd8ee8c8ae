// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	draindriver "github.com/slipway-k8s/slipway/internal/drainer/driver"
	"github.com/slipway-k8s/slipway/internal/lifecycle/agent"
	"github.com/slipway-k8s/slipway/internal/platform/identity"
	"github.com/slipway-k8s/slipway/internal/platform/telemetry"
)

// beAgents is the variable that makes this program a process with many agents in it.
const beAgents = "SLIPWAY_SOAK_AGENTS"

// agentOf is the order to start the agent of a node.
type agentOf struct {
	Node string `json:"node"`
	// Kubeconfig has the token of its pod, and Dir is for its sockets.
	Kubeconfig string `json:"kubeconfig"`
	Dir        string `json:"dir"`
}

// String is the order as it is given: a line of JSON.
func (a agentOf) String() string {
	line, err := json.Marshal(a)
	if err != nil {
		return err.Error() // which nobody reads as an order: strings can be marshalled
	}
	return string(line)
}

// runAgents starts an agent for each order, with the drain driver built in, as node-agent does. It ends
// with the orders, or with the first agent that ends.
func runAgents(ctx context.Context, orders io.Reader) error {
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

// The limits are those of node-agent.
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
	registration := filepath.Join(a.Dir, "r")
	serve := func(ctx context.Context, asNode *rest.Config, drains *telemetry.Drains) error {
		return draindriver.Serve(ctx, self, draindriver.Options{
			DriverName: draindriver.DefaultDriverName, NodeName: a.Node, AsNode: asNode, Namespace: draindriver.DefaultNamespace,
			DataDir: filepath.Join(a.Dir, "d"), RegistrationDir: registration, Observer: drains,
			SLA: draindriver.DefaultSLA, EvictionTimeout: draindriver.DefaultEvictionTimeout, GracePeriodSeconds: -1,
		})
	}
	err = agent.Run(ctx, self, agent.Options{
		NodeName: a.Node, ActAs: identity.ActAsNode, RegistrationDir: registration,
		HealthAddress: "0", MetricsAddress: "0", Metrics: prometheus.NewRegistry(),
		Builtin: []agent.Builtin{{Name: draindriver.DefaultDriverName, Serve: serve}},
	})
	if err != nil {
		return fmt.Errorf("the agent of %s: %w", a.Node, err)
	}
	return nil
}

// alone gives an agent connections of its own, as it has them in a process of its own: client-go shares them
// between clients whose authority is the same text. Lines around a certificate do not change it.
func alone(config *rest.Config, node string) *rest.Config {
	own := rest.CopyConfig(config)
	own.CAData = append([]byte("the authority, for "+node+"\n"), own.CAData...)
	return own
}
