// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-k8s/slipway/bench/drain/internal/contender"
	"github.com/slipway-k8s/slipway/bench/drain/internal/scenario"
)

func TestPlanTakesTurns(t *testing.T) {
	var got []string
	for _, d := range plan([]scenario.Scenario{{Key: "a"}, {Key: "b"}}, []string{"x", "y", "z"}, 2) {
		got = append(got, fmt.Sprintf("%d%s%s", d.repetition, d.scenario.Key, d.contender))
	}
	const want = "1ax 1ay 1az 1bx 1by 1bz 2ay 2az 2ax 2by 2bz 2bx"
	if strings.Join(got, " ") != want {
		t.Errorf("plan is %v; want %s", got, want)
	}
}

func TestEstimate(t *testing.T) {
	e := newEstimate()
	a, b := drain{scenario: scenario.Scenario{Key: "a"}}, drain{scenario: scenario.Scenario{Key: "b"}}
	if got := e.left([]drain{a, b}); got != 0 {
		t.Errorf("with nothing known, %s are left; want 0", got)
	}
	e.took(a, 10*time.Second)
	e.took(a, 20*time.Second)
	if got := e.left([]drain{a, b, b}); got != 45*time.Second {
		t.Errorf("%s are left; want 45s", got)
	}
}

func TestNothingIsIdealAboutADrainThatCannotEnd(t *testing.T) {
	all := plan([]scenario.Scenario{{Key: "f", Blocked: time.Minute}}, contender.Names(), 1)
	var names []string
	for _, d := range all {
		names = append(names, d.contender)
	}
	if diff := cmp.Diff([]string{contender.Kubectl, contender.Slipway}, names); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
