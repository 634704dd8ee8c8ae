// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/internal/eviction/surge"
)

// TestAPodIsLetGoFromOurLastWordOn: whoever keeps the states writes Completed only later.
func TestAPodIsLetGoFromOurLastWordOn(t *testing.T) {
	now := metav1.Now()
	for name, tc := range map[string]struct {
		state    evictionv1alpha1.ResponderStateType
		complete *metav1.Time
		want     surge.Standing
	}{
		"at work":             {evictionv1alpha1.ResponderStateActive, nil, surge.Awaited},
		"has completed":       {evictionv1alpha1.ResponderStateActive, &now, surge.LetGo},
		"and is said to have": {evictionv1alpha1.ResponderStateCompleted, &now, surge.LetGo},
		"comes later":         {evictionv1alpha1.ResponderStateInactive, nil, surge.Awaited},
		"was silent":          {evictionv1alpha1.ResponderStateInterrupted, nil, surge.Interrupted},
	} {
		t.Run(name, func(t *testing.T) {
			e := &evictionv1alpha1.Eviction{}
			e.Status.TargetResponders = []evictionv1alpha1.TargetResponder{{Name: surge.Responder, State: tc.state}}
			e.Status.Responders = []evictionv1alpha1.ResponderStatus{
				{Name: "example.com/other", CompletionTime: &now}, {Name: surge.Responder, CompletionTime: tc.complete},
			}
			if got := standingOf(e); got != tc.want {
				t.Errorf("it stands at %d, and should at %d", got, tc.want)
			}
		})
	}
}
