// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/ask"
)

// drainOf is the event that 'kubectl slipway drain NODE' asks for.
func drainOf(t *testing.T, node string, change ...func(*lifecyclev1alpha1.LifecycleEvent)) *lifecyclev1alpha1.LifecycleEvent {
	t.Helper()
	event, err := ask.Drain{GracePeriod: -1}.Event(node)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(event)
	}
	return event
}

func TestAnEventIsOnlyCreatedWhereNoneIsInItsWay(t *testing.T) {
	elsewhere := func(e *lifecyclev1alpha1.LifecycleEvent) { e.Spec.BindingNode = "worker-2" }
	ended := func(e *lifecyclev1alpha1.LifecycleEvent) { e.Status.ClaimStatus = lifecyclev1alpha1.Succeeded }
	canceled := func(e *lifecyclev1alpha1.LifecycleEvent) { e.DeletionTimestamp = &metav1.Time{Time: noon} }
	longer := func(e *lifecyclev1alpha1.LifecycleEvent) { e.Spec.SLA = &metav1.Duration{Duration: 48 * time.Hour} }
	worker1 := drainOf(t, "worker-1")
	for name, tc := range map[string]struct {
		there, wanted *lifecyclev1alpha1.LifecycleEvent
		want          []string // nothing: it is not in the way
	}{
		"the same drain is followed":               {drainOf(t, "worker-1"), worker1, nil},
		"one with another deadline is not":         {drainOf(t, "worker-1", longer), worker1, []string{"spec.sla is 48h0m0s there", "cancel worker-1"}},
		"nor one of another node under its name":   {drainOf(t, "worker-1", elsewhere), worker1, []string{"spec.bindingNode is worker-2 there, and worker-1 here", "cancel worker-2"}},
		"a drain of another node is left alone":    {drainOf(t, "worker-2"), worker1, nil},
		"one that has ended is replaced":           {drainOf(t, "worker-1", elsewhere, ended), worker1, nil},
		"and so is one that is being canceled":     {drainOf(t, "worker-1", canceled), worker1, nil},
		"a return does not wait for a drain":       {drainOf(t, "worker-1"), ask.Return("worker-1", ""), []string{"only come after it", "cancel worker-1"}},
		"but for that of its own node":             {drainOf(t, "worker-2"), ask.Return("worker-1", ""), nil},
		"even where that goes by another's name":   {drainOf(t, "worker-1", elsewhere), ask.Return("worker-1", ""), nil},
		"a drain waits for the return of its node": {ask.Return("worker-1", ""), worker1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			err := conflict(tc.there, tc.wanted)
			if (err != nil) != (len(tc.want) > 0) {
				t.Fatalf("in its way: %v", err)
			}
			for _, text := range tc.want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q is not in %q", text, err)
				}
			}
		})
	}
}
