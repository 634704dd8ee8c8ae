// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/driverkit"
)

func pod(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "shop", Name: name}
}

var noneLeft = driverkit.Condition{Type: "PodsLeft", Status: "False", Reason: "NoneLeft"}

func TestBlockersAreNamedWithTheirKinds(t *testing.T) {
	cart := pod("cart-0")
	got := answer(drain.Request{NodeName: "n"}, "AdminRequested", drain.Status{Total: 5, Done: 2, Message: "m", Blockers: []drain.Blocker{
		{Pod: cart, Reason: drain.BudgetExhausted, By: "cart", Message: "why"},
		{Pod: cart, Reason: drain.MultipleBudgets, By: "cart, shop"},
		{Pod: cart, Reason: drain.BudgetExhausted},
		{Pod: cart, Reason: drain.NamespaceTerminating, By: "shop"},
		{Pod: cart, Reason: drain.Terminating},
		{Pod: cart, Reason: drain.WaitingForCompletion, By: "shop/batch"},
		{Pod: cart, Reason: drain.LocalStorage, By: "cache"},
		{Pod: cart, Reason: drain.PodTimedOut},
		{Reason: drain.NodeNotCordoned, By: "n"},
		{Reason: drain.VolumeAttached, By: "kubernetes.io/csi/a^b"},
	}})
	want := driverkit.Answer{
		Message: "m", Progress: &driverkit.Progress{Total: 5, Done: 2}, BlockersTotal: 10,
		EventConditions: []driverkit.Condition{noneLeft}, NodeConditions: inProgress("AdminRequested", "2/5 pods, blocked"),
		Blockers: []driverkit.Blocker{
			{Object: "Pod shop/cart-0", Reason: "BudgetExhausted", By: "PodDisruptionBudget shop/cart", Message: "why"},
			{Object: "Pod shop/cart-0", Reason: "MultipleBudgets", By: "PodDisruptionBudget shop/cart, PodDisruptionBudget shop/shop"},
			{Object: "Pod shop/cart-0", Reason: "BudgetExhausted"},
			{Object: "Pod shop/cart-0", Reason: "NamespaceTerminating", By: "Namespace shop"},
			{Object: "Pod shop/cart-0", Reason: "Terminating"},
			{Object: "Pod shop/cart-0", Reason: "WaitingForCompletion", By: "DrainRule shop/batch"},
			{Object: "Pod shop/cart-0", Reason: "LocalStorage", By: "Volume cache"},
			{Object: "Pod shop/cart-0", Reason: "PodTimedOut"},
			{Object: "Node n", Reason: "NodeNotCordoned", By: "Node n"},
			{Object: "Node n", Reason: "VolumeAttached", By: "Volume kubernetes.io/csi/a^b"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestConditionsSayWhatBlockersDoNot(t *testing.T) {
	var many []drain.Blocker
	var overridden []types.NamespacedName
	for i := range 12 {
		many = append(many, drain.Blocker{Pod: pod(fmt.Sprint(i)), Reason: drain.PodRecurring, By: "ReplicaSet shop/web"})
		overridden = append(overridden, pod(fmt.Sprint(i)))
	}
	const web = " (PodRecurring, ReplicaSet shop/web), "
	for name, tc := range map[string]struct {
		hold   bool
		status drain.Status
		want   []driverkit.Condition
	}{
		"nothing to say": {want: []driverkit.Condition{noneLeft}},
		"a drain that holds": {
			hold: true,
			want: []driverkit.Condition{noneLeft, {Type: "TargetsReached", Status: "False", Reason: "Draining"}},
		},
		"a drain that holds, at its end": {
			hold: true, status: drain.Status{Reached: true},
			want: []driverkit.Condition{noneLeft, {
				Type: "TargetsReached", Status: "True", Reason: "Reached",
				Message: "all targets have moved; new pods are evicted until spec.parameters.hold is false",
			}},
		},
		"any drain at its end": {
			status: drain.Status{Reached: true},
			want: []driverkit.Condition{noneLeft, {
				Type: "TargetsReached", Status: "True", Reason: "Reached", Message: "all targets have moved",
			}},
		},
		"what is left for one reason": {
			status: drain.Status{Left: []drain.Blocker{{Pod: pod("a"), Reason: drain.PodSkipped, By: "shop/stay"}}},
			want: []driverkit.Condition{{
				Type: "PodsLeft", Status: "True", Reason: "PodSkipped",
				Message: "1 left on the node: Pod shop/a (PodSkipped, DrainRule shop/stay)",
			}},
		},
		"what is left for several reasons": {
			status: drain.Status{Left: []drain.Blocker{
				{Reason: drain.VolumeAttached, By: "v"}, {Pod: pod("a"), Reason: drain.PodRecurring},
			}},
			want: []driverkit.Condition{{
				Type: "PodsLeft", Status: "True", Reason: "LeftBehind",
				Message: "2 left on the node: Volume v (VolumeAttached), Pod shop/a (PodRecurring)",
			}},
		},
		"many": {
			status: drain.Status{Left: many, Overridden: overridden},
			want: []driverkit.Condition{
				{
					Type: "PodsLeft", Status: "True", Reason: "PodRecurring",
					Message: "12 left on the node: Pod shop/0" + web + "Pod shop/1" + web + "Pod shop/2" + web + "Pod shop/3" + web +
						"Pod shop/4" + web + "Pod shop/5" + web + "Pod shop/6" + web + "Pod shop/7" + web + "Pod shop/8" + web +
						"Pod shop/9 (PodRecurring, ReplicaSet shop/web) and 2 more",
				},
				{
					Type: "BudgetsOverridden", Status: "True", Reason: "Escalated",
					Message: "12 deleted although the eviction was not accepted: Pod shop/0, Pod shop/1, Pod shop/2, Pod shop/3, " +
						"Pod shop/4, Pod shop/5, Pod shop/6, Pod shop/7, Pod shop/8, Pod shop/9 and 2 more",
				},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, conditions(drain.Request{NodeName: "n", Hold: tc.hold}, tc.status)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
