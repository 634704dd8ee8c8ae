// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/driverkit"
)

func TestTheNodeSaysThatItIsBeingDrained(t *testing.T) {
	const inProgress, drained = "DrainInProgress", "Drained"
	blockers := []drain.Blocker{{Pod: pod("cart-0"), Reason: drain.BudgetExhausted, By: "cart"}}
	started := driverkit.Condition{Type: drained, Status: "False", Reason: "DrainStarted"}
	for name, tc := range map[string]struct {
		transition string
		status     drain.Status
		want   []driverkit.Condition
	}{
		"pods leave": {
			status: drain.Status{Total: 5, Done: 2},
			want:   []driverkit.Condition{{Type: inProgress, Status: "True", Reason: "AdminRequested", Message: "2/5 pods"}, started},
		},
		"some are held up, others are on their way": {
			status: drain.Status{Total: 5, Done: 2, Moving: 1, Blockers: blockers},
			want:   []driverkit.Condition{{Type: inProgress, Status: "True", Reason: "AdminRequested", Message: "2/5 pods"}, started},
		},
		"nothing moves": {
			status: drain.Status{Total: 5, Done: 2, Blockers: blockers},
			want:   []driverkit.Condition{{Type: inProgress, Status: "True", Reason: "AdminRequested", Message: "2/5 pods, blocked"}, started},
		},
		"the end": {
			status: drain.Status{Total: 5, Done: 5, Reached: true},
			want: []driverkit.Condition{
				{Type: inProgress, Status: "False", Reason: "DrainCompleted", Message: "5/5 pods"},
				{Type: drained, Status: "True", Reason: "DrainCompleted", Message: "5/5 pods"},
			},
		},
		"a machine that goes down is the cause": {
			transition: "drain.slm.k8s.io-shutdown", status: drain.Status{Total: 5, Done: 2},
			want: []driverkit.Condition{{Type: inProgress, Status: "True", Reason: "NodeShutdown", Message: "2/5 pods"}, started},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, nodeConditions(cause(tc.transition), tc.status)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
