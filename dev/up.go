// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/devcluster"
)

func newUp(local where) *cobra.Command {
	var nodes int
	command := &cobra.Command{
		Use:   "up",
		Short: "Start a local cluster with Slipway on it, or what is missing of it",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			here, err := local()
			if err != nil {
				return err
			}
			steps := newSteps(command.ErrOrStderr())
			c, err := devcluster.Up(command.Context(), devcluster.Options{
				Dir: here.cluster(), Nodes: nodes, Stderr: command.ErrOrStderr(),
			})
			if err != nil {
				return err
			}
			if err := install(command.Context(), c, here, steps); err != nil {
				return err
			}
			if err := here.linkKubeconfig(c); err != nil {
				return err
			}
			sayReady(command.OutOrStdout(), c, here)
			return nil
		},
	}
	const defaultNodes = 5
	command.Flags().IntVar(&nodes, "nodes", defaultNodes, "how many simulated nodes: worker-1 and so on; a running cluster can be given more")
	return command
}

func newDown(local where) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Take the local cluster down",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			here, err := local()
			if err != nil {
				return err
			}
			if err := devcluster.Down(command.Context(), devcluster.Options{Dir: here.cluster(), Stderr: command.ErrOrStderr()}); err != nil {
				return err
			}
			return errors.Join(here.unlinkKubeconfig(), here.remove())
		},
	}
}

// install puts Slipway onto a cluster: the kinds, the rights, and an agent for each
// node that has none.
func install(ctx context.Context, c *devcluster.Cluster, here place, steps *steps) error {
	if err := c.Install(ctx, lifecyclev1alpha1.GroupKubernetes); err != nil {
		return err
	}
	if err := c.CreateAgentPods(ctx); err != nil {
		return err
	}
	steps.step("starting an agent for each of %d nodes", len(c.Nodes))
	running := map[string]bool{}
	for _, pod := range c.Pods {
		running[pod.Namespace+"/"+pod.Name] = pod.State == "running"
	}
	const atOnce = 4
	starts, ctx := errgroup.WithContext(ctx)
	starts.SetLimit(atOnce)
	for _, node := range c.Nodes {
		starts.Go(func() error {
			pod, err := c.AgentPod(ctx, node)
			if err != nil || running[pod.Namespace+"/"+pod.Name] {
				return err
			}
			return c.StartAgent(ctx, node, c.AgentCommand(node, here.nodeAgent(), "-v=1")...)
		})
	}
	if err := starts.Wait(); err != nil {
		return fmt.Errorf("start the agents: %w", err)
	}
	steps.step("the agents are running")
	return nil
}

func sayReady(out io.Writer, c *devcluster.Cluster, here place) {
	fmt.Fprintf(out, `
Kubernetes %s with Slipway on %d simulated nodes is ready.

  export KUBECONFIG=%s
  bin/kubectl get nodes
  bin/kubectl get lifecycletransitions
  bin/kubectl apply -f dev/workload.yaml     something to drain

  make drain NODE=worker-1
  make maintenance-complete NODE=worker-1
  make down
`, c.Version, len(c.Nodes), here.kubeconfig())
}
