// SPDX-License-Identifier: Apache-2.0

package ideal

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func pod(name, app string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{"app": app}}}
}

func terminating(name string) *corev1.Pod {
	p := pod(name, "")
	p.DeletionTimestamp = &metav1.Time{}
	return p
}

func budget(app, version string, allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: app, UID: types.UID(app), ResourceVersion: version},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
}

func TestNext(t *testing.T) {
	cases := map[string]struct {
		pods    []*corev1.Pod
		budgets []*policyv1.PodDisruptionBudget
		used    map[types.UID]usage
		counted string // an eviction that its budget has shown
		want    string
	}{
		"no budget, by name":          {pods: []*corev1.Pod{pod("q", ""), pod("p", "")}, want: "p"},
		"terminating":                 {pods: []*corev1.Pod{terminating("p"), pod("q", "")}, want: "q"},
		"a budget that allows":        {pods: []*corev1.Pod{pod("p", "x")}, budgets: []*policyv1.PodDisruptionBudget{budget("x", "1", 1)}, want: "p"},
		"a budget that does not":      {pods: []*corev1.Pod{pod("p", "x")}, budgets: []*policyv1.PodDisruptionBudget{budget("x", "1", 0)}},
		"another that does":           {pods: []*corev1.Pod{pod("p", "x"), pod("q", "y")}, budgets: []*policyv1.PodDisruptionBudget{budget("x", "1", 0), budget("y", "1", 1)}, want: "q"},
		"evicted, and not yet shown":  {pods: []*corev1.Pod{pod("p", "x")}, budgets: []*policyv1.PodDisruptionBudget{budget("x", "1", 1)}, used: map[types.UID]usage{"x": {"o", "1", true}}},
		"evicted, and shown":          {pods: []*corev1.Pod{pod("p", "x")}, budgets: []*policyv1.PodDisruptionBudget{budget("x", "2", 1)}, used: map[types.UID]usage{"x": {"o", "1", true}}, counted: "o", want: "p"},
		"refused under this version":  {pods: []*corev1.Pod{pod("p", "x")}, budgets: []*policyv1.PodDisruptionBudget{budget("x", "1", 1)}, used: map[types.UID]usage{"x": {"p", "1", false}}},
		"refused under one before it": {pods: []*corev1.Pod{pod("p", "x")}, budgets: []*policyv1.PodDisruptionBudget{budget("x", "2", 1)}, used: map[types.UID]usage{"x": {"p", "1", false}}, want: "p"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := &drain{view: &view{disrupted: map[string]bool{c.counted: true}}, evicted: map[types.UID]bool{}, used: c.used}
			got := ""
			if next, _ := d.next(c.pods, c.budgets); next != nil {
				got = next.Name
			}
			if got != c.want {
				t.Errorf("next is %q; want %q", got, c.want)
			}
		})
	}
}
