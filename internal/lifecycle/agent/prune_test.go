// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
)

// An API server prunes the fields that its CRD does not have. Without this, the agent would
// write them again for as long as the drain continues.
func TestPodsThatTheServerPrunesAreNoticed(t *testing.T) {
	pods := []lifecyclev1alpha1.PodReference{{Namespace: "shop", Name: "cart-0", UID: "p"}}
	for name, tc := range map[string]struct {
		seen, written []lifecyclev1alpha1.PodReference
		version       string // after the write; it was 7 before
		want          bool
	}{
		"stored":                 {nil, pods, "8", false},
		"pruned":                 {nil, pods, "7", true},
		"written for the second": {pods, pods, "7", false},
		"none":                   {nil, nil, "7", false},
		"none any more":          {pods, []lifecyclev1alpha1.PodReference{}, "7", false},
	} {
		e := &lifecyclev1alpha1.LifecycleEvent{}
		e.ResourceVersion, e.Status.LeftToResponders = "7", tc.seen
		step := transition.WriteStatus{Event: e, Status: lifecyclev1alpha1.LifecycleEventStatus{LeftToResponders: tc.written}}
		if got := isPruned(step, tc.version); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestPrunedPodsAreNotWrittenAgain(t *testing.T) {
	answer := &transition.Answer{LeftToResponders: []lifecyclev1alpha1.PodReference{{Name: "cart-0"}}}
	a := &Agent{prunes: map[types.UID]bool{"e": true, "not called": true}}
	calls := a.storable(map[types.UID]transition.Call{"e": {Answer: answer}, "other": {Answer: answer}})
	if calls["e"].Answer.LeftToResponders != nil {
		t.Error("the pods are written again")
	}
	if len(calls["other"].Answer.LeftToResponders) == 0 || len(answer.LeftToResponders) == 0 {
		t.Error("the pods of another event, or of the driver's answer, are gone")
	}
}
