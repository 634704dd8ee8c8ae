// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/bench/drain/internal/contender"
	"github.com/slipway-k8s/slipway/bench/drain/internal/measure"
	"github.com/slipway-k8s/slipway/bench/drain/internal/report"
	"github.com/slipway-k8s/slipway/bench/drain/internal/scenario"
	"github.com/slipway-k8s/slipway/bench/drain/internal/stage"
	"github.com/slipway-k8s/slipway/bench/internal/proc"
)

// contenders are those of the flags, in their usual order.
func (s settings) contenders() []string {
	var names []string
	for _, name := range contender.Names() {
		for _, wanted := range s.only {
			if name == wanted {
				names = append(names, name)
			}
		}
	}
	return names
}

// describe is all of the results that is known before the first run.
func (s settings) describe(ctx context.Context, scenarios []scenario.Scenario) report.Results {
	r := report.Results{
		Seed: s.seed, Contenders: s.contenders(),
		Conditions: report.Conditions{
			Go: runtime.Version(), CPU: proc.Model(), Cores: runtime.NumCPU(),
			Settings: stage.Settings(), KubectlFlags: contender.KubectlFlags(),
		},
	}
	now := report.Occasion{Date: time.Now().Format(time.DateOnly), Slipway: revision(ctx), Load: proc.Load(), Repeat: s.repeat}
	for _, of := range scenarios {
		r.Scenarios = append(r.Scenarios, report.Scenario{
			Key: of.Key, Title: of.Title, Blocked: of.Blocked.Seconds(), Fleet: of.Fleet, Occasion: now,
		})
	}
	return r
}

// revision is the commit that the benchmark was run at.
func revision(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty=, changed", "--abbrev=12").Output()
	if err != nil {
		return "of an unknown commit"
	}
	return strings.TrimSpace(string(out))
}

// usage of CPU time, in seconds.
type usage struct {
	busy, all  float64
	components map[string]float64
}

func (b *bench) usage() (usage, error) {
	u := usage{components: map[string]float64{}}
	var err error
	if u.busy, u.all, err = proc.Machine(); err != nil {
		return u, err
	}
	for name, pid := range b.components {
		if u.components[name], err = proc.CPU(pid); err != nil {
			return u, err
		}
	}
	return u, nil
}

func (u usage) since(before usage) measure.CPU {
	cpu := measure.CPU{Seconds: map[string]float64{}}
	if all := u.all - before.all; all > 0 {
		cpu.Busy = (u.busy - before.busy) / all
	}
	for name, seconds := range u.components {
		cpu.Seconds[name] = seconds - before.components[name]
	}
	return cpu
}
