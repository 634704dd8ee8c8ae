// SPDX-License-Identifier: Apache-2.0

package drains

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slipway-k8s/slipway/bench/internal/report"
	"github.com/slipway-k8s/slipway/bench/internal/testbed"
)

// Options of a benchmark.
type Options struct {
	Scenarios  []Scenario
	Contenders []string
	Repeat     int
	// Seed seeds the delays.
	Seed uint64
	// Bin is the directory of Slipway's programs.
	Bin string
	// Out is the file for the results, which are written after each run. It keeps its results of other scenarios.
	// Empty: no file.
	Out string
}

// drain is one to be run.
type drain struct {
	scenario   Scenario
	contender  string
	repetition int
}

// plan returns the order of all drains: each repetition of all scenarios before the next, and the contenders in
// turns, so that drift affects each contender.
func plan(scenarios []Scenario, contenders []string, repeat int) (all []drain) {
	for repetition := 1; repetition <= repeat; repetition++ {
		for _, s := range scenarios {
			for i := range contenders {
				who := contenders[(i+repetition-1)%len(contenders)]
				// A drain that cannot end has no ideal; and the ideal evictor knows no fleets.
				if (s.Blocked == 0 && s.Fleet == 0) || who != Ideal {
					all = append(all, drain{s, who, repetition})
				}
			}
		}
	}
	return all
}

// Benchmark runs all drains. If it fails, the results are those so far, beside the earlier ones.
func Benchmark(ctx context.Context, o Options, p *testbed.Progress) (Results, error) {
	earlier, err := readEarlier(o.Out)
	if err != nil {
		return earlier, err
	}
	results := o.describe(ctx)
	for _, group := range Groups(o.Scenarios) {
		err = open(ctx, group, testbed.Options{}, p, func(c *testbed.Cluster) error {
			return o.onCluster(ctx, c, group, earlier, &results)
		})
		if err != nil {
			break
		}
	}
	all, withErr := earlier.With(results)
	return all, errors.Join(err, withErr)
}

// onCluster runs the drains of a group of scenarios.
func (o Options) onCluster(ctx context.Context, c *testbed.Cluster, group []Scenario, earlier Results, results *Results) error {
	for i := range results.Scenarios {
		results.Scenarios[i].Conditions.Kubernetes = c.Version
	}
	if _, err := earlier.With(*results); err != nil {
		return fmt.Errorf("--out=%s: %w; measure those again, too, or write into another file", o.Out, err)
	}
	if slices.Contains(o.Contenders, Slipway) {
		started, err := startSlipway(ctx, c, group, o.Bin)
		if err != nil {
			return err
		}
		var stop context.CancelFunc
		ctx, stop = testbed.While(ctx, started...)
		defer stop()
	}
	contenders := map[string]contender{}
	for _, name := range o.Contenders {
		who, err := newContender(ctx, name, c)
		if err == nil {
			err = warmUp(ctx, who, group, c.Nodes)
		}
		if err != nil {
			return fmt.Errorf("prepare %s: %w", name, errors.Join(err, context.Cause(ctx)))
		}
		contenders[name] = who
	}
	b, drains, began := &bench{cluster: c, seed: o.Seed}, plan(group, o.Contenders, o.Repeat), time.Now()
	for i, d := range drains {
		run, err := b.run(ctx, d.scenario, contenders[d.contender], d.repetition)
		if err != nil {
			return fmt.Errorf("%s by %s, repetition %d: %w", d.scenario.Key, d.contender, d.repetition, errors.Join(err, context.Cause(ctx)))
		}
		results.Runs = append(results.Runs, run)
		left := time.Since(began) / time.Duration(i+1) * time.Duration(len(drains)-i-1)
		c.Printf("[%d/%d] %s by %s: %.1f s, %d evictions, %d refused; about %s left",
			i+1, len(drains), run.Scenario, run.Contender, run.Seconds, run.Evictions.Sent, run.Evictions.Refused, left.Round(time.Second))
		if o.Out == "" {
			continue
		}
		all, err := earlier.With(*results)
		if err != nil {
			return err
		}
		if err := report.Write(o.Out, all); err != nil {
			return err
		}
	}
	return nil
}
