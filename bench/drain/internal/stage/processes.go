// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/slipway-k8s/slipway/bench/internal/controller"
	"github.com/slipway-k8s/slipway/internal/devcluster"
)

// AgentUser is who Slipway's agents are.
const AgentUser = "system:serviceaccount:" + devcluster.Namespace + ":" + devcluster.AgentServiceAccount

// StartAgents starts the agents of nodes, each with the token of its pod. They run
// until the stage is closed.
func (s *Stage) StartAgents(ctx context.Context, binary string, nodes []string) error {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	if err := s.CreateAgentPods(ctx); err != nil {
		return err
	}
	for _, node := range nodes {
		pod, err := s.AgentPod(ctx, node)
		if err != nil {
			return err
		}
		if err := s.StartPod(ctx, pod, s.AgentCommand(node, binary)...); err != nil {
			return fmt.Errorf("start the agent of %s: %w", node, err)
		}
	}
	return nil
}

// StartSurging starts the controller that acts on EvictionRequests. It runs until the
// stage is closed.
func (s *Stage) StartSurging(ctx context.Context, binary string) error {
	return s.startController(ctx, binary, []string{"rbac/evictions", "admission/evictions"}, "--eviction-requests")
}

// StartCentral starts the controller that drains all nodes itself. It runs until the stage
// is closed.
func (s *Stage) StartCentral(ctx context.Context, binary string) error {
	return s.startController(ctx, binary, []string{"rbac/central"}, "--claim-mode=central")
}

func (s *Stage) startController(ctx context.Context, binary string, config []string, flags ...string) (err error) {
	s.controller, err = controller.Start(ctx, s.Cluster, controller.Options{Binary: binary, Dir: s.Dir, Config: config, Flags: flags})
	return err
}
