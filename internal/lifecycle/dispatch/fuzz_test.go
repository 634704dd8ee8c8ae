// SPDX-License-Identifier: Apache-2.0

package dispatch

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
)

// Whatever bytes a driver answers with: what can be read of them is an answer that says as
// much, and can be written into a status and read there again.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []*driverv1.LifecycleTransitionResponse{
		{},
		{LifecycleCondition: "drained", NodeName: "n", Waits: true},
		{Error: "on fire", Message: "m"},
		{
			LifecycleCondition: "draining", Progress: &driverv1.Progress{Total: 7, Done: 3}, BlockersTotal: 1,
			Blockers: []*driverv1.Blocker{{Object: "Pod shop/cart-0", Reason: "R", By: "b", Message: "m", SinceSeconds: 1e9}},
		},
		{Blockers: []*driverv1.Blocker{{SinceSeconds: 1 << 62}, {SinceSeconds: -1}}},
		{LeftToResponders: &driverv1.Pods{}},
		{LeftToResponders: &driverv1.Pods{Pods: []*driverv1.PodReference{{Namespace: "shop", Name: "cart-0", Uid: "u"}, nil}}},
		{EventConditions: []*driverv1.Condition{{Type: "T", Status: "True", Reason: "R", Message: "m"}}, NodeConditions: []*driverv1.Condition{{}}},
	} {
		raw, err := proto.Marshal(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		response := &driverv1.LifecycleTransitionResponse{}
		if proto.Unmarshal(raw, response) != nil {
			return
		}
		answer := answerOf(response, 1)
		if len(answer.Blockers) != len(response.GetBlockers()) || len(answer.EventConditions) != len(response.GetEventConditions()) ||
			len(answer.NodeConditions) != len(response.GetNodeConditions()) {
			t.Errorf("of %v, it says %+v", response, answer)
		}
		if (answer.LeftToResponders == nil) != (response.GetLeftToResponders() == nil) {
			t.Error("to name no pods is not to say nothing of them")
		}
		text, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		again := &transition.Answer{}
		if err := json.Unmarshal(text, again); err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if diff := cmp.Diff(answer, again); diff != "" {
			t.Errorf("it does not say the same (-before +after):\n%s", diff)
		}
	})
}
