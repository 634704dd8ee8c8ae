// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/slipway-k8s/slipway/internal/devcluster"
)

// workload is the manifest of the pods on the demo's cluster.
//
//go:embed workload.yaml
var workload []byte

// demoNode is the node that the demo drains.
const demoNode = "worker-1"

func newDemo(local where) *cobra.Command {
	d := demo{}
	command := &cobra.Command{
		Use:   "demo",
		Short: "Drain a node of a temporary cluster, return it to service, remove the cluster",
		Long: `Starts a cluster with a workload, drains worker-1 by 'kubectl slipway drain', returns it
by 'kubectl slipway uncordon', and removes everything: also after Ctrl-C, or when a step
fails. After a second Ctrl-C, it ends at once, and the cluster is removed in the background.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			here, err := local()
			if err != nil {
				return err
			}
			d.place, d.out = here.demo(), command.OutOrStdout()
			return d.run(command.Context())
		},
	}
	const defaultNodes = 3
	command.Flags().IntVar(&d.nodes, "nodes", defaultNodes, "how many simulated nodes")
	return command
}

// demo is one demonstration on a temporary cluster.
type demo struct {
	place
	nodes int
	out   io.Writer
}

func (d *demo) run(ctx context.Context) error {
	d.heading("A Kubernetes control plane on this machine")
	// The end of ctx does not take the cluster down: this function does.
	c, err := devcluster.Run(context.WithoutCancel(ctx), devcluster.Options{Dir: d.cluster(), Nodes: d.nodes, Stderr: d.out})
	if err != nil {
		return errors.Join(interruptedOr(ctx, err), d.remove())
	}
	err = interruptedOr(ctx, d.play(ctx, c))
	if ctx.Err() != nil {
		fmt.Fprintln(d.out, "\nInterrupted. Taking everything down; Ctrl-C again ends this at once, and the cluster is removed in the background.")
	} else {
		d.heading("Taking everything down")
	}
	return errors.Join(err, c.Close(), d.remove())
}

// interruptedOr returns err, unless a signal has ended ctx: then the signal is the cause.
func interruptedOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// play runs the demo on its cluster.
func (d *demo) play(ctx context.Context, c *devcluster.Cluster) error {
	if err := d.linkKubeconfig(c); err != nil {
		return err
	}
	pods, stop := context.WithCancel(ctx)
	var following errgroup.Group
	following.Go(func() error { return d.followPods(pods, c, func(string) {}) })
	err := d.scenes(ctx)
	stop()
	return errors.Join(err, following.Wait())
}

func (d *demo) scenes(ctx context.Context) error {
	d.heading("Slipway and a workload on it")
	if err := d.program(ctx, d.out, nil, "kubectl-slipway", "install", "--yes"); err != nil {
		return err
	}
	fmt.Fprintln(d.out, "Starting a workload: Deployments with and without a PodDisruptionBudget, a StatefulSet, a DaemonSet, a bare pod, a finished Job.")
	if err := d.startWorkload(ctx); err != nil {
		return fmt.Errorf("start the workload: %w", err)
	}
	for _, line := range []string{
		"kubectl get pods --namespace=shop --field-selector=spec.nodeName=" + demoNode,
		"kubectl slipway drain " + demoNode + " --force --delete-emptydir-data",
		"kubectl get node " + demoNode,
		"kubectl slipway uncordon " + demoNode,
		"kubectl get node " + demoNode,
	} {
		d.heading("$ " + line)
		args := strings.Fields(strings.Replace(line, "kubectl slipway", "kubectl-slipway", 1))
		if err := d.program(ctx, d.out, nil, args[0], args[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// startWorkload returns when all pods run, or have finished.
func (d *demo) startWorkload(ctx context.Context) error {
	if err := d.program(ctx, io.Discard, workload, "kubectl", "apply", "-f", "-"); err != nil {
		return err
	}
	waits, ctx := errgroup.WithContext(ctx)
	for _, line := range []string{
		"rollout status deployment/cart", "rollout status deployment/reports", "rollout status statefulset/db", "rollout status daemonset/logs",
		"wait --for=condition=Ready pod/shell", "wait --for=condition=Complete job/migrate",
	} {
		waits.Go(func() error {
			return d.program(ctx, io.Discard, nil, "kubectl", append(strings.Fields(line), "--namespace=shop", "--timeout=3m")...)
		})
	}
	return waits.Wait()
}

func (d *demo) heading(text string) { fmt.Fprintf(d.out, "\n%s\n\n", text) }
