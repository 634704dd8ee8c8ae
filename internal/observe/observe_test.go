// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

func TestItIsToldWhoOverrodeBudgets(t *testing.T) {
	one := metav1.Condition{Type: "BudgetsOverridden", Status: metav1.ConditionTrue, Message: "1 deleted: Pod shop/a"}
	two := metav1.Condition{Type: "BudgetsOverridden", Status: metav1.ConditionTrue, Message: "2 deleted: Pod shop/a, Pod shop/b"}
	for name, tc := range map[string]struct {
		requestedBy   string
		before, after []metav1.Condition
		want          []string
	}{
		"nothing is":    {"alice", nil, nil, nil},
		"another":       {"alice", nil, []metav1.Condition{{Type: "PodsLeft", Status: metav1.ConditionTrue}}, nil},
		"none is":       {"alice", nil, []metav1.Condition{{Type: "BudgetsOverridden", Status: metav1.ConditionFalse}}, nil},
		"told before":   {"alice", []metav1.Condition{one}, []metav1.Condition{one}, nil},
		"the first is":  {"alice", nil, []metav1.Condition{one}, []string{`Warning BudgetsOverridden LifecycleEvent e, asked for by "alice": 1 deleted: Pod shop/a`}},
		"one more":      {"alice", []metav1.Condition{one}, []metav1.Condition{two}, []string{`Warning BudgetsOverridden LifecycleEvent e, asked for by "alice": 2 deleted: Pod shop/a, Pod shop/b`}},
		"for nobody":    {"", nil, []metav1.Condition{one}, []string{"Warning BudgetsOverridden LifecycleEvent e, it does not say who asked for it: 1 deleted: Pod shop/a"}},
		"a percent (%)": {"100%s", nil, []metav1.Condition{one}, []string{`Warning BudgetsOverridden LifecycleEvent e, asked for by "100%s": 1 deleted: Pod shop/a`}},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := record.NewFakeRecorder(10)
			o := &Observer{recorder: recorder, node: &corev1.ObjectReference{Kind: "Node", Name: "n"}}
			event := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Name: "e"}}
			event.Spec.RequestedBy, event.Status.Conditions = tc.requestedBy, tc.before
			o.Reported(event, lifecyclev1alpha1.LifecycleEventStatus{Conditions: tc.after})
			close(recorder.Events)
			var got []string
			for text := range recorder.Events {
				got = append(got, text)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
