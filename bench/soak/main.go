// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-k8s/slipway/bench/internal/page"
	"github.com/slipway-k8s/slipway/bench/internal/proc"
)

func main() {
	beQuiet()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		stop()
		os.Exit(1)
	}
}

// beQuiet silences what the rooms say of their work: what is measured, this program says.
func beQuiet() {
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
}

// outputs are where results go.
type outputs struct {
	results, readme, page, chart string
	// show: nothing is measured, what is in the file of the results is shown.
	show bool
}

func command(ctx context.Context) error {
	if os.Getenv(beAgents) != "" {
		return runAgents(ctx, os.Stdin)
	}
	s, o := full, outputs{}
	flag.IntVar(&s.nodes, "nodes", full.nodes, "simulated nodes in the end")
	flag.IntVar(&s.podsPerNode, "pods-per-node", full.podsPerNode, "pods on each of them")
	flag.Func("sizes", "how many nodes there are before, while the controller is watched at rest, or none (default 100,300)", numbers(&s.sizes))
	flag.Func("steps", "how many nodes the controller drains at once, step by step, or none (default 1,20,50,100)", numbers(&s.steps))
	flag.Func("agents", "how many agents are watched at rest in one process, step by step, or none (default 1,20,50,100,200)", numbers(&s.agents))
	flag.Func("agent-steps", "how many of them drain their nodes at once, step by step, or none (default 1,20,50,129)", numbers(&s.agentSteps))
	flag.IntVar(&s.limit, "limit", full.limit, "MiB that the controller may take")
	flag.DurationVar(&s.rest, "rest", full.rest, "how long the controller, and agents, are watched at rest")
	flag.DurationVar(&s.mixed, "mixed", 0, "keep drains, returns, EvictionRequests and maintenances going for so long, instead of all that")
	flag.DurationVar(&s.settle, "settle", full.settle, "how long the controller is left alone then, before it is looked at")
	flag.Uint64Var(&s.seed, "seed", full.seed, "seed of what is random in that")
	flag.StringVar(&s.controller, "controller", "bin/controller", "the controller's binary")
	flag.StringVar(&o.results, "out", "", "file for the results, in JSON")
	flag.StringVar(&o.readme, "readme", "", "file to put the short table into (default: standard output)")
	flag.StringVar(&o.page, "page", "", "file to put all tables into")
	flag.StringVar(&o.chart, "chart", "", "file for the plots, in SVG")
	flag.BoolVar(&o.show, "show", false, "measure nothing: show what is in --out")
	flag.Parse()
	if s.mixed > 0 {
		return runMixed(ctx, s, o)
	}
	if o.show {
		r, err := read(o.results)
		if err != nil {
			return err
		}
		return o.write(r, os.Stdout)
	}
	return run(ctx, s, o)
}

func run(ctx context.Context, s settings, o outputs) error {
	measured := describe(ctx) // before anybody commits something else
	r, err := soak(ctx, s, os.Stderr)
	if err != nil {
		return err
	}
	measured.Kubernetes = r.Conditions.Kubernetes
	r.Conditions = measured
	r.Conditions.Load = proc.Load()
	if o.results != "" {
		if err := r.write(o.results); err != nil {
			return err
		}
	}
	if err := o.write(r, os.Stdout); err != nil {
		return err
	}
	return r.held()
}

// write shows results where they are wanted.
func (o outputs) write(r results, out io.Writer) error {
	if o.chart != "" {
		if err := os.WriteFile(o.chart, []byte(r.figure()), 0o644); err != nil {
			return err
		}
	}
	if o.page != "" {
		if err := page.Insert(o.page, "scale", r.scale()); err != nil {
			return err
		}
	}
	if o.readme == "" {
		_, err := io.WriteString(out, r.markdown())
		return err
	}
	return page.Insert(o.readme, "soak", r.markdown())
}
