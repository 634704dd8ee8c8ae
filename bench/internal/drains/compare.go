// SPDX-License-Identifier: Apache-2.0

package drains

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/slipway-k8s/slipway/bench/internal/report"
	"github.com/slipway-k8s/slipway/bench/internal/testbed"
	"github.com/slipway-k8s/slipway/internal/devcluster"
)

// CompareOptions select the builds and the scenarios to compare.
type CompareOptions struct {
	// Base is a git revision. It is compared with the working tree.
	Base      string
	Scenarios []Scenario
	// Repeat is the number of times that each build drains each scenario.
	Repeat int
	Seed   uint64
}

// Comparison has the measurements of two builds of Slipway.
type Comparison struct {
	Conditions report.Conditions `json:"conditions"`
	Base       string            `json:"base"` // the commit
	Seed       uint64            `json:"seed"`
	Scenarios  []Compared        `json:"scenarios"`
	// Runs has the runs of all scenarios. Their Contender is the build: base or new.
	Runs []Run `json:"runs"`
}

// Compared is one scenario.
type Compared struct {
	Key  string `json:"key"`
	Runs int    `json:"runs"` // of each build
	// Ratio is new to base, of the durations.
	Ratio Ratio `json:"ratio"`
	Base  Side  `json:"base"`
	New   Side  `json:"new"`
}

// Side has the measurements of one build in a scenario.
type Side struct {
	// Seconds is the median of the durations.
	Seconds float64 `json:"seconds"`
	// Refused are the evictions that were refused, and PerPod all that were sent for each pod.
	Refused int     `json:"refused"`
	PerPod  float64 `json:"perPod"`
}

// Compare builds the base and the working tree, and lets them drain in turns on one cluster: A B
// B A A B and so on. Each starts its own programs with its own manifests for each drain.
func Compare(ctx context.Context, o CompareOptions, p *testbed.Progress) (c Comparison, err error) {
	for _, s := range o.Scenarios {
		if s.Blocked > 0 {
			return c, fmt.Errorf("scenario %s cannot be compared: its drain does not end", s.Key)
		}
	}
	root, err := devcluster.Root()
	if err != nil {
		return c, err
	}
	base, remove, err := buildBase(ctx, root, o.Base, p)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	next := &build{name: "new", root: root, bin: filepath.Join(base.root, "new")}
	if err := next.make(ctx, p); err != nil {
		return c, err
	}
	same := sameManifests(ctx, root, filepath.Base(base.root))
	c = Comparison{Conditions: report.Now(ctx), Base: filepath.Base(base.root)[:12], Seed: o.Seed}
	for _, group := range Groups(o.Scenarios) {
		err := open(ctx, group, testbed.Options{}, p, func(cluster *testbed.Cluster) error {
			c.Conditions.Kubernetes = cluster.Version
			d := duel{bench: bench{cluster: cluster, seed: o.Seed}, base: base, next: next, same: same}
			return d.drain(ctx, group, o.Repeat, &c)
		})
		if err != nil {
			return c, err
		}
	}
	c.sumUp(o.Scenarios)
	return c, nil
}

// duel is two builds on a cluster.
type duel struct {
	bench
	base, next *build
	same       bool // both have the same manifests
}

func (d *duel) drain(ctx context.Context, group []Scenario, repeat int, c *Comparison) error {
	if !d.same {
		d.cluster.Printf("the manifests of the two builds differ: each drain begins with an installation")
	}
	done, all, began := 0, 2*repeat*len(group), time.Now()
	for repetition := 1; repetition <= repeat; repetition++ {
		for _, s := range group {
			order := [2]*build{d.base, d.next}
			if repetition%2 == 0 {
				order = [2]*build{d.next, d.base}
			}
			for i, b := range order {
				run, err := d.one(ctx, s, b, order[1-i], repetition)
				if err != nil {
					return fmt.Errorf("%s by %s, repetition %d: %w", s.Key, b.name, repetition, err)
				}
				c.Runs = append(c.Runs, run)
				done++
				left := time.Since(began) / time.Duration(done) * time.Duration(all-done)
				d.cluster.Printf("[%d/%d] %s by %s: %.1f s, %d evictions, %d refused; about %s left", done, all, s.Key, b.name,
					run.Seconds, run.Evictions.Sent, run.Evictions.Refused, left.Round(time.Second))
			}
		}
	}
	return nil
}

// one installs a build, starts its programs, warms them up, measures one drain, and stops them.
func (d *duel) one(ctx context.Context, s Scenario, b, other *build, repetition int) (r Run, err error) {
	d.cluster.Cluster = d.cluster.WithManifests(b.root)
	if !d.same {
		if err := b.install(ctx, d.cluster, other); err != nil {
			return r, err
		}
	}
	started, err := startSlipway(ctx, d.cluster, []Scenario{s}, b.bin)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, testbed.StopAll(started)) }()
	running, stop := testbed.While(ctx, started...)
	defer stop()
	who := newSlipway(d.cluster)
	err = warmUp(running, who, []Scenario{s}, d.cluster.Nodes)
	if err == nil {
		r, err = d.run(running, s, who, repetition)
	}
	r.Contender = b.name
	return r, errors.Join(err, context.Cause(running))
}

// sumUp compares the runs of each scenario.
func (c *Comparison) sumUp(scenarios []Scenario) {
	for _, s := range scenarios {
		of := Compared{Key: s.Key}
		seconds := map[string][]float64{}
		sides := map[string]*Side{"base": &of.Base, "new": &of.New}
		for _, r := range c.Runs {
			if r.Scenario == s.Key {
				side := sides[r.Contender]
				seconds[r.Contender] = append(seconds[r.Contender], r.Seconds)
				side.Refused += r.Evictions.Refused
				side.PerPod += float64(r.Evictions.Sent)
			}
		}
		of.Runs = len(seconds["base"])
		of.Ratio = ratioOf(seconds["base"], seconds["new"])
		for name, side := range sides {
			side.Seconds = median(seconds[name])
			side.PerPod /= float64(of.Runs * s.PodsPerNode() * s.Drained)
		}
		c.Scenarios = append(c.Scenarios, of)
	}
}

// Violations returns the invariants that a build violated, in all runs.
func (c Comparison) Violations() []string { return Results{Runs: c.Runs}.Violations() }

// Markdown shows a row for each scenario.
func (c Comparison) Markdown() string {
	table := report.NewTable("scenario", "runs of each", "base, s", "new, s", "ratio new/base (95 % interval)", "refused evictions: base, new", "evictions per pod: base, new")
	for _, s := range c.Scenarios {
		table.Row(s.Key, fmt.Sprint(s.Runs), fmt.Sprintf("%.1f", s.Base.Seconds), fmt.Sprintf("%.1f", s.New.Seconds), s.Ratio.String(),
			fmt.Sprintf("%d, %d", s.Base.Refused, s.New.Refused), fmt.Sprintf("%.2f, %.2f", s.Base.PerPod, s.New.PerPod))
	}
	return fmt.Sprintf("%s\nBase: %s; new: %s. Kubernetes %s, %d cores, load %s at the beginning, seed %d.\n",
		table, c.Base, c.Conditions.Slipway, c.Conditions.Kubernetes, c.Conditions.Cores, c.Conditions.Load, c.Seed)
}
