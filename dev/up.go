// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/internal/devcluster"
)

func newUp(local where) *cobra.Command {
	var (
		nodes   int
		slipway bool
	)
	command := &cobra.Command{
		Use:   "up",
		Short: "Start a local cluster with Slipway on it, or its missing parts",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			here, err := local()
			if err != nil {
				return err
			}
			if err := here.stopKubelets(); err != nil {
				return err
			}
			ctx := command.Context()
			c, err := devcluster.Up(ctx, devcluster.Options{Dir: here.cluster(), Nodes: nodes, Stderr: command.ErrOrStderr()})
			if err != nil {
				return err
			}
			if err := errors.Join(here.linkKubeconfig(c), here.startKubelets(ctx)); err != nil {
				return err
			}
			with, next := "", bare
			if slipway {
				with, next = " with Slipway", ready
				if err := here.program(ctx, command.ErrOrStderr(), nil, "kubectl-slipway", "install", "--yes"); err != nil {
					return err
				}
			}
			fmt.Fprintf(command.OutOrStdout(), "\nKubernetes %s%s on %d simulated nodes is ready.\n\n  export PATH=%s:$PATH KUBECONFIG=%s\n%s",
				c.Version, with, len(c.Nodes), here.bin(), here.kubeconfig(), next)
			return nil
		},
	}
	const defaultNodes = 5
	command.Flags().IntVar(&nodes, "nodes", defaultNodes, "how many simulated nodes: worker-1 and so on; a running cluster can be given more")
	command.Flags().BoolVar(&slipway, "slipway", true, "install Slipway; if false, run 'kubectl slipway install' later")
	return command
}

// The next commands, with Slipway on the cluster and without.
const (
	ready = `  kubectl get nodes
  kubectl get lifecycletransitions
  kubectl apply -f dev/workload.yaml     something to drain

  make drain NODE=worker-1
  make maintenance-complete NODE=worker-1
  make down
`
	bare = `  kubectl slipway install

  make down
`
)

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
			return here.remove()
		},
	}
}
