// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"strings"
	"testing"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
)

func TestWhoseHoldIsHandedOver(t *testing.T) {
	held := func(event, user, actor, maintenance string) *slipwayv1alpha1.NodeHold {
		h := &slipwayv1alpha1.NodeHold{Spec: slipwayv1alpha1.NodeHoldSpec{NodeName: "worker-1", EventName: event, User: user, Actor: actor, Maintenance: maintenance}}
		h.Name = event
		return h
	}
	all := []*slipwayv1alpha1.NodeHold{held("a", "alice", "", ""), held("b", "alice", "blue", ""), held("c", "carol", "", "night"), held("d", "alice", "", "")}
	for name, tc := range map[string]struct {
		from, actor string
		holds       []*slipwayv1alpha1.NodeHold
		want        string
		code        int
	}{
		"both of one's own":      {"alice", "", all, "a d", 0},
		"those of another actor": {"alice", "blue", all, "b", 0},
		"not those of maintenances": {
			"carol", "", all, `user "carol" does not hold node worker-1: it is held by user "alice", user "alice" (actor "blue"), user "alice"; --from`, cli.Held,
		},
		"none": {"alice", "", nil, `user "alice" does not hold node worker-1, and no other user does`, cli.Error},
	} {
		t.Run(name, func(t *testing.T) {
			holds, err := (&handover{from: tc.from, fromActor: tc.actor}).wanted("worker-1", tc.holds)
			if err != nil {
				if code, _ := cli.CodeOf(err); code != tc.code || !strings.HasPrefix(err.Error(), tc.want) {
					t.Errorf("exit code %d: %v", code, err)
				}
				return
			}
			var got []string
			for _, h := range holds {
				got = append(got, h.Name)
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("got %v, want %s", got, tc.want)
			}
		})
	}
}

func TestAHandoverNeedsANewHolder(t *testing.T) {
	if _, errOut, code := execute(t, "hold", "transfer", "worker-1"); code != cli.WrongUsage || !strings.Contains(errOut, "give --to") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
}
