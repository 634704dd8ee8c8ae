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
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-k8s/slipway/bench/internal/page"
	"github.com/slipway-k8s/slipway/bench/internal/proc"
)

func main() {
	s := full
	flag.IntVar(&s.nodes, "nodes", full.nodes, "simulated nodes, with ten pods each")
	flag.Func("steps", "how many of them are drained at once, step by step (default 1,10,50,100)", s.setSteps)
	flag.IntVar(&s.limit, "limit", full.limit, "MiB that the controller may take")
	flag.DurationVar(&s.rest, "rest", full.rest, "how long the controller is watched at rest")
	flag.StringVar(&s.controller, "controller", "bin/controller", "the controller's binary")
	out := flag.String("out", "", "file for the results, in JSON")
	readme := flag.String("readme", "", "file to put the table into (default: standard output)")
	flag.Parse()
	log.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, s, *out, *readme); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings, out, readme string) error {
	measured := describe(ctx) // before anybody commits something else
	r, err := soak(ctx, s, os.Stderr)
	if err != nil {
		return err
	}
	r.Conditions = measured
	r.Conditions.Load = proc.Load()
	if out != "" {
		if err := r.write(out); err != nil {
			return err
		}
	}
	if err := show(r, os.Stdout, readme); err != nil {
		return err
	}
	return r.held()
}

func show(r results, out io.Writer, readme string) error {
	if readme == "" {
		_, err := io.WriteString(out, r.markdown())
		return err
	}
	return page.Insert(readme, "soak", r.markdown())
}
