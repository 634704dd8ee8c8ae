// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Who waits for a condition after a change of the parameters must not take the word of
// the driver about the older ones for it.
func TestADriversConditionIsOfTheParametersThatItWasGiven(t *testing.T) {
	e := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	fold(&e.Status, e, &Answer{Generation: 1, EventConditions: []Condition{{Type: "T", Status: "True", Reason: "R"}}}, time.Unix(1, 0))
	if got := apimeta.FindStatusCondition(e.Status.Conditions, "T").ObservedGeneration; got != 1 {
		t.Errorf("observedGeneration is %d; want 1", got)
	}
}

// What a driver did until it was told to stop is in its last answer only.
func TestTheLastWordsOfADriverAreKept(t *testing.T) {
	e := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{
		UID: "u", Finalizers: []string{lifecyclev1alpha1.ClaimProtectionFinalizer},
	}}
	e.Status = lifecyclev1alpha1.LifecycleEventStatus{
		ClaimStatus: lifecyclev1alpha1.Claimed, State: "from", Driver: &lifecyclev1alpha1.ClaimedDriver{Name: "d", Start: "from", End: "to"},
	}
	now := time.Unix(100, 0)
	step := endEarly(Facts{
		Drivers: func(string) Driver { return Driver{Registered: true} },
		Calls: map[types.UID]Call{"u": {AnsweredKind: CallLastEnd, Answer: &Answer{
			State: "from", EventConditions: []Condition{{Type: "T", Status: "True", Reason: "R"}},
		}}},
	}, e, ending{lifecyclev1alpha1.SlaExpired, lifecyclev1alpha1.ReasonSLAExpired, "", now}, now).Step
	write, ok := step.(WriteStatus)
	if !ok || write.Status.ClaimStatus != lifecyclev1alpha1.SlaExpired || !apimeta.IsStatusConditionTrue(write.Status.Conditions, "T") {
		t.Errorf("got %+v; want that it ends, with condition T", step)
	}
}
