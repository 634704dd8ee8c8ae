// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/slipway-k8s/slipway/bench/internal/page"
)

func main() {
	var s settings
	flag.IntVar(&s.pods, "pods", 250, "pods on the node")
	flag.DurationVar(&s.rest, "rest", time.Minute, "how long the agent is watched at rest")
	flag.StringVar(&s.agent, "agent", "bin/node-agent", "the agent's binary")
	flag.StringVar(&s.readme, "readme", "", "file to put the table into")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		stop()
		os.Exit(1)
	}
}

// settings of a measurement.
type settings struct {
	pods          int
	rest          time.Duration
	agent, readme string
}

func run(ctx context.Context, s settings) (err error) {
	m, err := newMeasurement(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	r, err := m.measure(ctx)
	if err != nil {
		return err
	}
	table := r.markdown(s)
	if s.readme == "" {
		_, err = os.Stdout.WriteString(table)
		return err
	}
	return page.Insert(s.readme, "cost", table)
}
