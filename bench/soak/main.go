// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-k8s/slipway/bench/internal/page"
)

func main() {
	var s settings
	flag.IntVar(&s.nodes, "nodes", full.nodes, "simulated nodes, with ten pods each")
	flag.IntVar(&s.most, "most", full.most, "of them, how many are drained at once in the last step")
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

// settings of a soak.
type settings struct {
	nodes, most int
	// limit is how many MiB the controller may take.
	limit      int
	rest       time.Duration
	controller string
}

// full is what make soak does.
var full = settings{nodes: 1000, most: 100, limit: 300, rest: 30 * time.Second}

// podsPerNode are how many pods there are on each node: each of another app.
const podsPerNode = 10

// steps are how many nodes are drained at once, one step after the other, each of other
// nodes.
func (s settings) steps() []int {
	var steps []int
	for _, n := range []int{1, s.most / 10, s.most / 2, s.most} {
		if n > 0 && (len(steps) == 0 || n > steps[len(steps)-1]) {
			steps = append(steps, n)
		}
	}
	return steps
}

func run(ctx context.Context, s settings, out, readme string) error {
	r, err := soak(ctx, s, os.Stderr)
	if err != nil {
		return err
	}
	r.Conditions = describe(ctx)
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
