// SPDX-License-Identifier: Apache-2.0

package drains

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLaterResultsTakeThePlaceOfEarlierOnes(t *testing.T) {
	earlier, later := results(), results()
	later.Contenders = []string{"slipway"}
	later.Scenarios = []Measured{{Key: "c", Title: "new", Conditions: later.Scenarios[0].Conditions}, {Key: "d", Title: "anew", Conditions: later.Scenarios[0].Conditions}}
	later.Runs = []Run{run("c", "slipway", 1, 3, 1, 0), run("d", "slipway", 1, 4, 1, 0)}
	all, err := earlier.With(later)
	if err != nil {
		t.Fatal(err)
	}
	var titles []string
	for _, s := range all.Scenarios {
		titles = append(titles, s.Key+": "+s.Title)
	}
	want := []string{"b: 20 pods, a budget", "c: new", "d: anew", "f: 1 pod that cannot go, for 60 s"}
	if diff := cmp.Diff(want, titles); diff != "" {
		t.Errorf("scenarios (-want +got):\n%s", diff)
	}
	if b, d := all.of("b"), all.of("d"); len(b) != 3 || len(d) != 1 || d[Slipway].wall != 4 {
		t.Errorf("of (b), which stays: %+v; of (d), which is measured anew: %+v", b, d)
	}
	if diff := cmp.Diff(results(), earlier); diff != "" {
		t.Errorf("the earlier results have changed (-want +got):\n%s", diff)
	}
}

func TestResultsUnderOtherConditionsDoNotStandSideBySide(t *testing.T) {
	other := func(change func(*Results)) Results {
		later := results()
		later.Scenarios, later.Runs = later.Scenarios[:1], later.Runs[:1] // (b)
		change(&later)
		return later
	}
	for name, later := range map[string]Results{
		"seed":    other(func(r *Results) { r.Seed++ }),
		"cores":   other(func(r *Results) { r.Scenarios[0].Conditions.Cores = 64 }),
		"version": other(func(r *Results) { r.Scenarios[0].Conditions.Kubernetes = "v1.2.4" }),
	} {
		if _, err := results().With(later); err == nil || !strings.Contains(err.Error(), "(d), (f) were measured under other conditions") {
			t.Errorf("another %s: %v", name, err)
		}
	}
	all := results()
	all.Scenarios[0].Conditions.Cores = 64
	if got, err := results().With(all); err != nil || got.conditions().Cores != 64 {
		t.Errorf("all scenarios anew, under other conditions: %+v, %v", got.conditions(), err)
	}
}
