// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
)

func newDemo(local where) *cobra.Command {
	d := demo{}
	command := &cobra.Command{
		Use:   "demo",
		Short: "Drain a node of a cluster of its own, return it, take everything down",
		Long: `Starts a cluster with a workload, drains worker-1 by applying
config/samples/drain-worker-1.yaml, returns it by config/samples/uncordon-worker-1.yaml,
and takes everything down: also after Ctrl-C, or when something fails. After a second
Ctrl-C, it ends at once, and the cluster goes by itself.`,
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

// demo is one showing, with a cluster of its own.
type demo struct {
	place place
	nodes int

	out     io.Writer
	steps   *steps
	cluster *devcluster.Cluster
	kubectl kubectl
	acts    []act
}

// act is an event that has been followed to its end.
type act struct {
	manifest string
	took     time.Duration
	story    *progress.Model
}

func (d *demo) run(ctx context.Context) (err error) {
	d.steps = newSteps(d.out)
	d.heading("A Kubernetes control plane on this machine")
	// It is taken down below, not by the signal that ends ctx.
	d.cluster, err = devcluster.Run(context.WithoutCancel(ctx), devcluster.Options{
		Dir: d.place.cluster(), Nodes: d.nodes, Stderr: d.out,
	})
	if err != nil {
		return errors.Join(interruptedOr(ctx, err), d.place.remove())
	}
	err = d.play(ctx)
	return errors.Join(interruptedOr(ctx, err), d.takeDown(ctx))
}

// interruptedOr is err, unless there was a signal: what fails after it, fails for it.
func interruptedOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// play is the demo on its cluster.
func (d *demo) play(ctx context.Context) error {
	if err := d.prepare(ctx); err != nil {
		return err
	}
	if err := d.show(ctx, drain); err != nil {
		return err
	}
	if err := d.show(ctx, giveBack); err != nil {
		return err
	}
	d.sum()
	return nil
}

// takeDown removes all that the demo has made.
func (d *demo) takeDown(ctx context.Context) error {
	if ctx.Err() != nil {
		fmt.Fprintln(d.out, "\nInterrupted. Taking everything down; Ctrl-C again ends this at once, and the cluster goes by itself.")
	} else {
		d.heading("Taking everything down")
	}
	return errors.Join(d.cluster.Close(), d.place.remove())
}

// prepare puts Slipway and the workload onto the cluster.
func (d *demo) prepare(ctx context.Context) error {
	d.kubectl = kubectl{path: d.cluster.Kubectl, kubeconfig: d.cluster.Kubeconfig, dir: d.place.root}
	d.heading("Slipway and a workload on it")
	if err := install(ctx, d.cluster, d.place, d.steps); err != nil {
		return err
	}
	d.steps.step("starting a workload: Deployments with and without a budget, a StatefulSet, a DaemonSet, a bare pod, a finished Job")
	if err := startWorkload(ctx, d.kubectl); err != nil {
		return fmt.Errorf("start the workload: %w", err)
	}
	d.steps.step("the workload runs")
	return d.tell(ctx, "get", "pods", "--namespace=shop", "--field-selector=spec.nodeName="+sampleNode)
}

// show applies an event, follows it to its end, and shows the node.
func (d *demo) show(ctx context.Context, a action) error {
	manifest := d.place.sample(a.sample)
	text, err := os.ReadFile(filepath.Join(d.place.root, manifest))
	if err != nil {
		return err
	}
	d.heading("$ kubectl apply -f " + manifest)
	fmt.Fprintf(d.out, "%s\n", text)
	began := time.Now()
	told, err := a.follow(ctx, d.cluster.Admin, d.out, sampleNode, func(ctx context.Context) error {
		_, err := d.kubectl.run(ctx, nil, "apply", "-f", manifest)
		return err
	})
	if err != nil {
		return err
	}
	if err := a.verdict(outcome(told).Phase, sampleNode); err != nil {
		return err
	}
	d.acts = append(d.acts, act{manifest: manifest, took: time.Since(began), story: told})
	if err := d.tell(ctx, "get", "node", sampleNode); err != nil {
		return err
	}
	return d.tell(ctx, "get", "node", sampleNode, "-o", "jsonpath={.status.conditions[?(@.type==\"LifecycleTransition\")]}")
}

// tell prints a kubectl command and what it says.
func (d *demo) tell(ctx context.Context, args ...string) error {
	said, err := d.kubectl.run(ctx, nil, args...)
	if err != nil {
		return err
	}
	line := "$ kubectl"
	for _, arg := range args {
		line += " " + quote(arg)
	}
	fmt.Fprintf(d.out, "\n%s\n%s\n", line, said)
	return nil
}

// sum prints what has happened.
func (d *demo) sum() {
	d.heading("What happened")
	for _, a := range d.acts {
		end := outcome(a.story)
		fmt.Fprintf(d.out, "%s: %s after %.1fs, %s\n", a.manifest, end.Phase, a.took.Seconds(), end.Message)
		for _, entry := range a.story.Log() {
			if entry.Step {
				fmt.Fprintln(d.out, entry.Line())
			}
		}
		fmt.Fprintln(d.out)
	}
}

func (d *demo) heading(text string) { fmt.Fprintf(d.out, "\n%s\n\n", text) }
