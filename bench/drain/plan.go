// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/slipway-k8s/slipway/bench/drain/internal/contender"
	"github.com/slipway-k8s/slipway/bench/drain/internal/scenario"
)

// drain is one to be run.
type drain struct {
	scenario   scenario.Scenario
	contender  string
	repetition int
}

// plan is the order of all drains: each repetition of all scenarios before the next,
// and the contenders in turns, so that whatever drifts drifts for all of them. None is
// always the first.
func plan(scenarios []scenario.Scenario, contenders []string, repeat int) []drain {
	var all []drain
	for repetition := 1; repetition <= repeat; repetition++ {
		for _, s := range scenarios {
			for i := range contenders {
				who := contenders[(i+repetition-1)%len(contenders)]
				if (s.Blocked > 0 || s.Fleet > 0) && who == contender.Ideal {
					continue // nothing can be ideal about a drain that cannot end; and it drains at once, or not at all
				}
				all = append(all, drain{s, who, repetition})
			}
		}
	}
	return all
}

// estimate knows how long drains have taken, to say how long the others will.
type estimate struct{ taken map[string][]time.Duration }

func newEstimate() *estimate { return &estimate{taken: map[string][]time.Duration{}} }

func (e *estimate) took(d drain, t time.Duration) {
	e.taken[d.key()] = append(e.taken[d.key()], t)
	e.taken[""] = append(e.taken[""], t)
}

// left is the time for what remains: each as its like, or else as all on average.
func (e *estimate) left(remaining []drain) time.Duration {
	var sum time.Duration
	for _, d := range remaining {
		if of := e.taken[d.key()]; len(of) > 0 {
			sum += mean(of)
		} else {
			sum += mean(e.taken[""])
		}
	}
	return sum
}

func (d drain) key() string { return d.scenario.Key + "/" + d.contender }

func mean(of []time.Duration) time.Duration {
	if len(of) == 0 {
		return 0
	}
	var sum time.Duration
	for _, t := range of {
		sum += t
	}
	return sum / time.Duration(len(of))
}
