// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/slipway-k8s/slipway/bench/internal/page"
)

func main() {
	var s settings
	flag.IntVar(&s.pods, "pods", 2000, "pods, and EvictionRequests at once")
	flag.StringVar(&s.controller, "controller", "bin/controller", "the controller's binary")
	flag.StringVar(&s.readme, "readme", "", "file to put the table into")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "evictions:", err)
		stop()
		os.Exit(1)
	}
}

// settings of a measurement.
type settings struct {
	pods               int
	controller, readme string
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
	table := r.markdown()
	if s.readme == "" {
		_, err = os.Stdout.WriteString(table)
		return err
	}
	return page.Insert(s.readme, "evictions", table)
}
