// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
)

func TestARefusalIsToldOfUntilItIsDoneWith(t *testing.T) {
	f := New(Cluster{}, &Screen{}, clocktesting.NewFakeClock(metav1.Now().Time), progress.Asked{Node: "worker-1", Event: "drain-worker-1"})
	now := f.clock.Now()
	f.Begin(now)
	f.Saw(&lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{Name: "drain-worker-1"},
		Status: lifecyclev1alpha1.LifecycleEventStatus{
			ClaimStatus: lifecyclev1alpha1.Claimed, ClaimedBy: &lifecyclev1alpha1.Claimer{Kind: lifecyclev1alpha1.NodeAgent, Identity: "worker-1"}, Blockers: []lifecyclev1alpha1.Blocker{{Object: "Pod shop/bare", Reason: "UnmanagedPod"}},
		},
	}, now)
	answers := []bool{false, false, true}
	called := 0
	f.OnRefusal = func(context.Context, *lifecyclev1alpha1.LifecycleEvent, []lifecyclev1alpha1.Blocker) bool {
		called++
		return answers[called-1]
	}
	for range 5 {
		f.reportRefusals(t.Context())
	}
	if called != len(answers) {
		t.Errorf("it was told of %d times, want %d", called, len(answers))
	}
}
