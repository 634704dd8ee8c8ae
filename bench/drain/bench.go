// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/slipway-k8s/slipway/bench/drain/internal/contender"
	"github.com/slipway-k8s/slipway/bench/drain/internal/measure"
	"github.com/slipway-k8s/slipway/bench/drain/internal/report"
	"github.com/slipway-k8s/slipway/bench/drain/internal/scenario"
	"github.com/slipway-k8s/slipway/bench/drain/internal/stage"
)

// bench is a benchmark that is going on.
type bench struct {
	settings   settings
	stage      *stage.Stage
	contenders map[string]contender.Contender
	components map[string]int // process ids
	progress   io.Writer
	count      int
}

// benchmark runs all drains. The results are those so far, if it fails, beside those that
// were there before.
func benchmark(ctx context.Context, s settings, scenarios []scenario.Scenario, progress io.Writer) (results report.Results, err error) {
	results = s.describe(ctx, scenarios)
	earlier, err := s.earlier()
	if err != nil {
		return results, err
	}
	for _, group := range scenario.Groups(scenarios) {
		if err := s.onOneCluster(ctx, group, earlier, &results, progress); err != nil {
			all, with := earlier.With(results)
			return all, errors.Join(err, with)
		}
	}
	return earlier.With(results)
}

// earlier are the results that the file has already, if there is one.
func (s settings) earlier() (report.Results, error) {
	if s.out == "" {
		return report.Results{}, nil
	}
	earlier, err := report.Read(s.out)
	if errors.Is(err, fs.ErrNotExist) {
		return report.Results{}, nil
	}
	return earlier, err
}

// keep writes all results that there are.
func (s settings) keep(earlier, results report.Results) error {
	all, err := earlier.With(results)
	if err != nil {
		return fmt.Errorf("--out=%s: %w", s.out, err)
	}
	return report.Write(s.out, all)
}

// onOneCluster runs the drains of scenarios that have a cluster in common.
func (s settings) onOneCluster(
	ctx context.Context, scenarios []scenario.Scenario, earlier report.Results, results *report.Results, progress io.Writer,
) (err error) {
	began := time.Now()
	b := &bench{settings: s, contenders: map[string]contender.Contender{}, progress: progress}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.open(ctx, scenarios); err != nil {
		return err
	}
	results.Conditions.Kubernetes = b.stage.Version
	if _, err := earlier.With(*results); err != nil {
		return fmt.Errorf("--out=%s: %w; measure those anew, too, or write into another file", s.out, err)
	}
	drains := plan(scenarios, results.Contenders, s.repeat)
	e := newEstimate()
	for i, d := range drains {
		from := time.Now()
		run, err := b.run(ctx, d)
		if err != nil {
			return fmt.Errorf("%s by %s, repetition %d: %w", d.scenario.Key, d.contender, d.repetition, err)
		}
		results.Runs = append(results.Runs, run)
		e.took(d, time.Since(from))
		b.say(i+1, len(drains), run, time.Since(began), e.left(drains[i+1:]))
		if last := i+1 == len(drains) || drains[i+1].repetition != d.repetition; last && s.out != "" {
			if err := s.keep(earlier, *results); err != nil {
				return err
			}
		}
	}
	return nil
}

// open starts the cluster and the agents, and lets each contender drain empty nodes
// once: what is only done the first time is not measured.
func (b *bench) open(ctx context.Context, scenarios []scenario.Scenario) (err error) {
	fmt.Fprintln(b.progress, "drain: starting a cluster")
	surge := scenarios[0].Surge // of all, or of none
	if b.stage, err = stage.Open(ctx, stage.Options{Nodes: scenario.MostNodes(scenarios), Evictions: surge}); err != nil {
		return err
	}
	b.components = b.stage.PIDs()
	drained := b.stage.Nodes[:scenario.MostDrained(scenarios)]
	names := b.settings.contenders()
	if slices.Contains(names, contender.Slipway) {
		if err := b.startSlipway(ctx, scenarios[0], drained); err != nil {
			return err
		}
	}
	for _, name := range names {
		c, err := contender.New(ctx, name, b.stage)
		if err != nil {
			return fmt.Errorf("prepare %s: %w", name, err)
		}
		b.contenders[name] = c
		if err := warmUp(ctx, c, &stage.Scene{Namespace: "default", Drained: drained, Fleet: scenarios[0].Fleet}); err != nil {
			return fmt.Errorf("warm up %s: %w", name, err)
		}
	}
	return nil
}

func warmUp(ctx context.Context, c contender.Contender, scene *stage.Scene) error {
	if _, err := c.Drain(ctx, scene, 0); err != nil || scene.Fleet > 0 && c.Name() != contender.Ideal {
		return err
	}
	return c.Return(ctx, scene.Drained)
}

// startSlipway starts what the scenarios of a group need, of which one is given.
func (b *bench) startSlipway(ctx context.Context, of scenario.Scenario, drained []string) error {
	if of.Fleet > 0 || of.Central {
		return b.stage.StartCentral(ctx, b.settings.controller)
	}
	if err := b.stage.StartAgents(ctx, b.settings.agent, drained); err != nil || !of.Surge {
		return err
	}
	return b.stage.StartSurging(ctx, b.settings.controller)
}

func (b *bench) close() error {
	if b.stage == nil {
		return nil
	}
	return b.stage.Close()
}

func (b *bench) say(done, all int, run measure.Run, elapsed, left time.Duration) {
	fmt.Fprintf(b.progress, "drain: [%d/%d] %s by %s: %.1f s, %d evictions, %d refused · %s elapsed, about %s left\n",
		done, all, run.Scenario, run.Contender, run.Seconds, run.Evictions.Sent, run.Evictions.Refused,
		elapsed.Round(time.Second), left.Round(time.Second))
}
