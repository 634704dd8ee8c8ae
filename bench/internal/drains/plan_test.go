// SPDX-License-Identifier: Apache-2.0

package drains

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPlanTakesTurns(t *testing.T) {
	var got []string
	for _, d := range plan([]Scenario{{Key: "a"}, {Key: "b"}}, []string{"x", "y", "z"}, 2) {
		got = append(got, fmt.Sprintf("%d%s%s", d.repetition, d.scenario.Key, d.contender))
	}
	const want = "1ax 1ay 1az 1bx 1by 1bz 2ay 2az 2ax 2by 2bz 2bx"
	if strings.Join(got, " ") != want {
		t.Errorf("plan is %v; want %s", got, want)
	}
}

func TestNothingIsIdealAboutADrainThatCannotEnd(t *testing.T) {
	all := plan([]Scenario{{Key: "f", Blocked: time.Minute}}, Contenders(), 1)
	var names []string
	for _, d := range all {
		names = append(names, d.contender)
	}
	if diff := cmp.Diff([]string{Kubectl, Slipway}, names); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
