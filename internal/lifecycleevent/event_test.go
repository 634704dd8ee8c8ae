// SPDX-License-Identifier: Apache-2.0

package lifecycleevent

import (
	"testing"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

func TestWhichEventsReturnTheirNode(t *testing.T) {
	const returned, drained = "maintenance-complete", "drain-complete"
	transition := func(end, node string) *lifecyclev1alpha1.LifecycleTransition {
		return &lifecyclev1alpha1.LifecycleTransition{Spec: lifecyclev1alpha1.LifecycleTransitionSpec{End: end, NodeName: node}}
	}
	for name, tc := range map[string]struct {
		transition *lifecyclev1alpha1.LifecycleTransition
		claimed    string // the end state in the status
		want       bool
	}{
		"a return":                              {transition(returned, ""), "", true},
		"a return, as KEP-5683 writes it":       {transition("MaintenanceComplete", ""), "", true},
		"a drain":                               {transition(drained, ""), "", false},
		"an unknown transition":                 {nil, "", false},
		"a return that is claimed":              {transition(returned, ""), returned, true},
		"a transition that changed since":       {transition(drained, ""), returned, true},
		"a transition that was deleted since":   {nil, returned, true},
		"a transition that a node publishes":    {transition(returned, "w1"), "", false},
		"the same, and the node claims it":      {transition(returned, "w1"), returned, false},
		"a drain that a node claims as a drain": {transition(returned, ""), drained, false},
	} {
		e := &lifecyclev1alpha1.LifecycleEvent{Spec: lifecyclev1alpha1.LifecycleEventSpec{TransitionName: "t"}}
		if tc.claimed != "" {
			e.Status.Driver = &lifecyclev1alpha1.ClaimedDriver{End: tc.claimed}
		}
		transitions := map[string]*lifecyclev1alpha1.LifecycleTransition{}
		if tc.transition != nil {
			transitions["t"] = tc.transition
		}
		if got := ReturnsNode(e, transitions); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestTheRequesterOfAnEventIsItsGroup(t *testing.T) {
	for _, tc := range []struct{ name, requestedBy, want string }{
		{"drain-w1", "alice", "alice"},
		{"drain-w1", "", "unknown"}, // on a server that sets no requester
		{"maintenance-w1", "alice", ""},
		{"shutdown-w1-0a1b2c3d", "system:serviceaccount:slipway-system:slipway-controller", ""},
	} {
		e := &lifecyclev1alpha1.LifecycleEvent{Spec: lifecyclev1alpha1.LifecycleEventSpec{RequestedBy: tc.requestedBy}}
		e.Name = tc.name
		if got := Requester(e); got != tc.want {
			t.Errorf("%s of %q: the group is %q, want %q", tc.name, tc.requestedBy, got, tc.want)
		}
	}
}
