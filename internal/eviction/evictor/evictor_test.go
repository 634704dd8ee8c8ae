// SPDX-License-Identifier: Apache-2.0

package evictor

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/responderkit"
)

func TestWhatIsSaidOfAPod(t *testing.T) {
	ends := time.Date(2026, 11, 21, 12, 0, 30, 0, time.UTC)
	for name, tc := range map[string]struct {
		progress drain.PodProgress
		want     responderkit.Progress
	}{
		"nothing holds it": {want: responderkit.Progress{Message: "evicting the pod"}},
		"its budget does": {
			progress: drain.PodProgress{Blocker: drain.Blocker{Reason: drain.BudgetExhausted, By: "cart", Message: "budget cart allows no disruption now"}},
			want:     responderkit.Progress{Message: "waiting: budget cart allows no disruption now"},
		},
		"it is ending": {
			progress: drain.PodProgress{Ends: ends},
			want: responderkit.Progress{
				Message: "the pod is ending; its grace period is over at 2026-11-21T12:00:30Z", ExpectedCompletion: ends,
			},
		},
		"it does not end": {
			progress: drain.PodProgress{Ends: ends, Blocker: drain.Blocker{Reason: drain.Terminating, Message: "it keeps its finalizers"}},
			want:     responderkit.Progress{Message: "waiting: it keeps its finalizers", ExpectedCompletion: ends},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, progressOf(tc.progress, ends.Add(-time.Minute))); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
		})
	}
}

// A pod on no node, or with no grace period, ends at once: the server takes no estimate in the past.
func TestAPodWhoseGracePeriodIsOverIsExpectedToEndSoon(t *testing.T) {
	ends := time.Date(2026, 11, 21, 12, 0, 30, 0, time.UTC)
	now := ends.Add(time.Minute)
	if got := progressOf(drain.PodProgress{Ends: ends}, now).ExpectedCompletion; !got.After(now) {
		t.Errorf("it is expected to end at %s", got)
	}
}
