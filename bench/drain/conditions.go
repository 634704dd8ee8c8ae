// SPDX-License-Identifier: Apache-2.0

package main

import (
	"debug/buildinfo"
	"fmt"
	"runtime"

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
func (s settings) describe(scenarios []scenario.Scenario) (report.Results, error) {
	version, err := revision(s.agent)
	if err != nil {
		return report.Results{}, err
	}
	r := report.Results{
		Seed: s.seed, Repeat: s.repeat, Contenders: s.contenders(),
		Conditions: report.Conditions{
			Slipway: version, Go: runtime.Version(), CPU: proc.Model(), Cores: runtime.NumCPU(), Load: proc.Load(),
			Settings: stage.Settings(), KubectlFlags: contender.KubectlFlags(),
		},
	}
	for _, of := range scenarios {
		r.Scenarios = append(r.Scenarios, report.Scenario{Key: of.Key, Title: of.Title, Blocked: of.Blocked.Seconds()})
	}
	return r, nil
}

// revision is the commit that a program was built from.
func revision(path string) (string, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("find out of what %s was built: %w", path, err)
	}
	revision, changed := "of an unknown commit", ""
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			revision = setting.Value[:min(len(setting.Value), 12)]
		case setting.Key == "vcs.modified" && setting.Value == "true":
			changed = ", changed"
		}
	}
	return revision + changed, nil
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
