// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-k8s/slipway/internal/devcluster"
)

func newUp(local where) *cobra.Command {
	var (
		nodes   int
		slipway bool
	)
	command := &cobra.Command{
		Use:   "up",
		Short: "Start a local cluster with Slipway on it, or what is missing of it",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			here, err := local()
			if err != nil {
				return err
			}
			// Until all is there, it is started here, and not behind our back.
			if err := here.stopKubelets(); err != nil {
				return err
			}
			steps := newSteps(command.ErrOrStderr())
			c, err := devcluster.Up(command.Context(), devcluster.Options{
				Dir: here.cluster(), Nodes: nodes, Stderr: command.ErrOrStderr(),
			})
			if err != nil {
				return err
			}
			if err := here.linkKubeconfig(c); err != nil {
				return err
			}
			if slipway {
				if err := install(command.Context(), c, here, steps); err != nil {
					return err
				}
			}
			// For the pods that come later, as a drain puts them elsewhere.
			if err := here.startKubelets(command.Context()); err != nil {
				return err
			}
			if slipway {
				sayReady(command.OutOrStdout(), c, here)
			} else {
				sayBare(command.OutOrStdout(), c, here)
			}
			return nil
		},
	}
	const defaultNodes = 5
	command.Flags().IntVar(&nodes, "nodes", defaultNodes, "how many simulated nodes: worker-1 and so on; a running cluster can be given more")
	command.Flags().BoolVar(&slipway, "slipway", true, "install Slipway; without it, 'kubectl slipway install' does, and its pods get their processes then")
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
			if err := here.stopKubelets(); err != nil {
				return err
			}
			if err := devcluster.Down(command.Context(), devcluster.Options{Dir: here.cluster(), Stderr: command.ErrOrStderr()}); err != nil {
				return err
			}
			return errors.Join(here.unlinkKubeconfig(), here.remove())
		},
	}
}

// install puts Slipway onto a cluster as people do, and starts a process for each of its
// pods that has none.
func install(ctx context.Context, c *devcluster.Cluster, here place, steps *steps) error {
	steps.step("installing config/install.yaml")
	if err := c.InstallRelease(ctx); err != nil {
		return err
	}
	steps.step("starting two controllers, and an agent for each of %d nodes", len(c.Nodes))
	starts, ctx := errgroup.WithContext(ctx)
	const atOnce = 4
	starts.SetLimit(atOnce)
	for _, node := range c.Nodes {
		starts.Go(func() error {
			pod, err := c.AgentPod(ctx, node)
			if err != nil {
				return err
			}
			return startPod(ctx, c, pod, c.AgentCommand(node, here.nodeAgent(), "-v=1")...)
		})
	}
	starts.Go(func() error { return startControllers(ctx, c, here) })
	if err := starts.Wait(); err != nil {
		return fmt.Errorf("start Slipway: %w", err)
	}
	steps.step("they are running")
	return nil
}

// startControllers starts those that are missing.
func startControllers(ctx context.Context, c *devcluster.Cluster, here place) error {
	const replicas = 2
	pods, err := c.ControllerPods(ctx, replicas)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		err := startPod(ctx, c, pod, here.controller(), "--claim-mode=node", "--health-probe-bind-address=0", "-v=1")
		if err != nil {
			return err
		}
	}
	return nil
}

// startPod starts the process of a pod, unless it runs.
func startPod(ctx context.Context, c *devcluster.Cluster, pod *corev1.Pod, command ...string) error {
	for _, p := range c.Pods {
		if p.Namespace == pod.Namespace && p.Name == pod.Name && p.State == "running" {
			return nil
		}
	}
	return c.StartPod(ctx, pod, command...)
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

func sayBare(out io.Writer, c *devcluster.Cluster, here place) {
	fmt.Fprintf(out, `
Kubernetes %s with %d simulated nodes is ready; Slipway is not on it yet.

  export PATH=%s:$PATH KUBECONFIG=%s
  kubectl slipway install

  make down
`, c.Version, len(c.Nodes), filepath.Join(here.root, "bin"), here.kubeconfig())
}
