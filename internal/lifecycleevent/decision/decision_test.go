// SPDX-License-Identifier: Apache-2.0

package decision_test

import (
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/internal/lifecycleevent/decision"
)

type step interface{ named() string }

type act string

func (a act) named() string { return string(a) }

func TestTheFirstStepCountsOrElseTheEarliestTime(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	do := func(name string) decision.Of[step] { return decision.Of[step]{Step: act(name)} }
	at := func(minutes int) decision.Of[step] {
		return decision.Of[step]{Wake: noon.Add(time.Duration(minutes) * time.Minute)}
	}
	nothing := decision.Of[step]{}
	for name, tc := range map[string]struct{ first, second, want decision.Of[step] }{
		"two steps":                        {do("a"), do("b"), do("a")},
		"a step, then a time":              {do("a"), at(1), do("a")},
		"a time, then a step":              {at(1), do("b"), decision.Of[step]{Step: act("b"), Wake: at(1).Wake}},
		"the earlier time is the first":    {at(1), at(2), at(1)},
		"the earlier time is the second":   {at(2), at(1), at(1)},
		"only the first has a time":        {at(1), nothing, at(1)},
		"only the second has a time":       {nothing, at(1), at(1)},
		"neither has anything":             {nothing, nothing, nothing},
		"nothing, then a step":             {nothing, do("b"), do("b")},
		"a step, and nothing more follows": {do("a"), nothing, do("a")},
	} {
		if got := tc.first.Or(tc.second); got != tc.want {
			t.Errorf("%s: got %v; want %v", name, got, tc.want)
		}
	}
}
