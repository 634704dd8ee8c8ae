// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
)

// An API server prunes what its CRD does not have. What it has dropped would be written
// again for as long as the drain goes on.
func TestPodsThatTheServerDoesNotKeepAreWrittenOnce(t *testing.T) {
	pods := []lifecyclev1alpha1.PodReference{{Namespace: "shop", Name: "cart-0", UID: "p"}}
	for name, tc := range map[string]struct {
		written []lifecyclev1alpha1.PodReference
		shown   string // the version that is read after version 7 was written
		kept    []lifecyclev1alpha1.PodReference
		noticed bool
	}{
		"they are kept":                     {pods, "7", pods, false},
		"they are dropped":                  {pods, "7", nil, true},
		"the watch is late":                 {pods, "6", nil, false},
		"somebody else has written since":   {pods, "8", nil, false},
		"there are none":                    {nil, "7", nil, false},
		"there are none any more, and were": {[]lifecyclev1alpha1.PodReference{}, "7", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			answer := &transition.Answer{LeftToResponders: pods}
			read := func() transition.Facts {
				e := &lifecyclev1alpha1.LifecycleEvent{}
				e.UID, e.ResourceVersion, e.Status.LeftToResponders = "e", tc.shown, tc.kept
				return transition.Facts{
					Events: []*lifecyclev1alpha1.LifecycleEvent{e},
					Calls:  map[types.UID]transition.Call{"e": {Answer: answer}, "other": {Answer: answer}},
				}
			}
			u := newUnkept()
			u.wrote("e", "7", lifecyclev1alpha1.LifecycleEventStatus{LeftToResponders: tc.written})
			facts := read()
			if noticed := u.look(facts); noticed != tc.noticed {
				t.Errorf("noticed is %v; want %v", noticed, tc.noticed)
			}
			if left := facts.Calls["e"].Answer.LeftToResponders == nil; left != tc.noticed {
				t.Errorf("left out is %v; want %v", left, tc.noticed)
			}
			if len(facts.Calls["other"].Answer.LeftToResponders) == 0 || len(answer.LeftToResponders) == 0 {
				t.Error("it is left out of another event, or of what the driver said")
			}
			facts = read()
			if again := u.look(facts); again {
				t.Error("it is told twice")
			}
			if left := facts.Calls["e"].Answer.LeftToResponders == nil; left != tc.noticed {
				t.Errorf("later, left out is %v; want %v", left, tc.noticed)
			}
			u.keep(map[types.UID]bool{})
			if len(u.written) > 0 || len(u.events) > 0 {
				t.Error("an event that is gone is not forgotten")
			}
		})
	}
}
