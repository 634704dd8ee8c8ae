// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
