// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAdmit(t *testing.T) {
	policy := func(p policyv1.UnhealthyPodEvictionPolicyType) func(*policyv1.PodDisruptionBudget) {
		return func(pdb *policyv1.PodDisruptionBudget) { pdb.Spec.UnhealthyPodEvictionPolicy = &p }
	}
	healthy := func(current, desired int32) func(*policyv1.PodDisruptionBudget) {
		return func(pdb *policyv1.PodDisruptionBudget) {
			pdb.Status.CurrentHealthy, pdb.Status.DesiredHealthy, pdb.Status.DisruptionsAllowed = current, desired, 0
		}
	}
	unobserved := func(pdb *policyv1.PodDisruptionBudget) { pdb.Generation = 2 }
	unconfirmed := func(pdb *policyv1.PodDisruptionBudget) {
		pdb.Status.DisruptedPods = map[string]metav1.Time{}
		for i := range maxUnconfirmed + 1 {
			pdb.Status.DisruptedPods[fmt.Sprint(i)] = metav1.Time{}
		}
	}
	other := func(pdb *policyv1.PodDisruptionBudget) { pdb.Spec.Selector.MatchLabels["app"] = "db" }
	cases := map[string]struct {
		pod     *corev1.Pod
		budgets []*budget
		want    Reason // empty: accepted
		budget  string // consulted
		counts  bool
	}{
		"without a budget all is allowed":                                     {pod: newPod("p")},
		"a budget for others does not matter":                                 {pod: newPod("p"), budgets: []*budget{newPDB("b", other, exhausted)}},
		"a budget that allows one lets one go":                                {newPod("p"), []*budget{newPDB("b")}, "", "b", true},
		"a budget that allows none refuses":                                   {newPod("p"), []*budget{newPDB("b", exhausted)}, BudgetExhausted, "b", true},
		"a budget of pods that are all healthy never allows":                  {newPod("p"), []*budget{newPDB("b", healthy(3, 3))}, BudgetImpossible, "b", true},
		"a budget that counts no pods never allows":                           {newPod("p"), []*budget{newPDB("b", healthy(1, 0), func(p *policyv1.PodDisruptionBudget) { p.Status.ExpectedPods = 0 })}, BudgetImpossible, "b", true},
		"a budget that its controller has not seen refuses":                   {newPod("p"), []*budget{newPDB("b", unobserved)}, BudgetNotObserved, "b", true},
		"a budget with too many unconfirmed evictions refuses":                {newPod("p"), []*budget{newPDB("b", unconfirmed)}, BudgetNotObserved, "b", true},
		"a budget that cannot be computed refuses":                            {newPod("p"), []*budget{newPDB("b", unsynced)}, BudgetSyncFailed, "b", true},
		"what cannot be computed is not observed either, and that is no help": {newPod("p"), []*budget{newPDB("b", unsynced, unobserved)}, BudgetSyncFailed, "b", true},
		"two budgets refuse":                                                  {newPod("p"), []*budget{newPDB("b"), newPDB("a")}, MultipleBudgets, "", false},
		"a pending pod passes any budget":                                     {pod: newPod("p", phase(corev1.PodPending)), budgets: []*budget{newPDB("b", exhausted)}},
		"a pending pod passes two budgets":                                    {pod: newPod("p", phase(corev1.PodPending)), budgets: []*budget{newPDB("a"), newPDB("b")}},
		"a succeeded pod passes any budget":                                   {pod: newPod("p", phase(corev1.PodSucceeded)), budgets: []*budget{newPDB("b", exhausted)}},
		"a failed pod passes any budget":                                      {pod: newPod("p", phase(corev1.PodFailed)), budgets: []*budget{newPDB("b", exhausted)}},
		"a terminating pod passes any budget":                                 {pod: newPod("p", endingAt(noon)), budgets: []*budget{newPDB("b", exhausted)}},
		"an unready pod passes while enough others are ready":                 {newPod("p", unready), []*budget{newPDB("b", healthy(2, 2))}, "", "b", false},
		"an unready pod does not pass while too few are ready":                {newPod("p", unready), []*budget{newPDB("b", healthy(1, 2))}, BudgetExhausted, "b", true},
		"an unready pod does not pass a budget that wants no pod healthy and allows none": {
			newPod("p", unready),
			[]*budget{newPDB("b", healthy(0, 0))},
			BudgetExhausted, "b", true,
		},
		"an unready pod passes AlwaysAllow": {newPod("p", unready), []*budget{newPDB("b", healthy(0, 2), policy(policyv1.AlwaysAllow))}, "", "b", false},
		"an unready pod passes AlwaysAllow although the budget was not observed": {
			newPod("p", unready),
			[]*budget{newPDB("b", healthy(0, 2), policy(policyv1.AlwaysAllow), unobserved)},
			"", "b", false,
		},
		"IfHealthyBudget is the same as no policy":       {newPod("p", unready), []*budget{newPDB("b", healthy(1, 2), policy(policyv1.IfHealthyBudget))}, BudgetExhausted, "b", true},
		"AlwaysAllow does nothing for a ready pod":       {newPod("p"), []*budget{newPDB("b", exhausted, policy(policyv1.AlwaysAllow))}, BudgetExhausted, "b", true},
		"an unready pod uses up an allowed one, if any":  {newPod("p", unready), []*budget{newPDB("b", func(p *policyv1.PodDisruptionBudget) { p.Status.CurrentHealthy = 1 })}, "", "b", true},
		"a pod without any condition counts as unready":  {newPod("p", func(p *corev1.Pod) { p.Status.Conditions = nil }), []*budget{newPDB("b", healthy(2, 2))}, "", "b", false},
		"a negative number of disruptions allows none":   {newPod("p"), []*budget{newPDB("b", func(p *policyv1.PodDisruptionBudget) { p.Status.DisruptionsAllowed = -1 })}, BudgetExhausted, "b", true},
		"a budget with an empty selector selects all":    {newPod("p"), []*budget{newPDB("b", exhausted, func(p *policyv1.PodDisruptionBudget) { p.Spec.Selector = &metav1.LabelSelector{} })}, BudgetExhausted, "b", true},
		"a budget without a selector selects none":       {pod: newPod("p"), budgets: []*budget{newPDB("b", exhausted, func(p *policyv1.PodDisruptionBudget) { p.Spec.Selector = nil })}},
		"a budget with an invalid selector selects none": {pod: newPod("p"), budgets: []*budget{newPDB("b", exhausted, func(p *policyv1.PodDisruptionBudget) { p.Spec.Selector.MatchLabels["app"] = "-no-" })}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := admit(tc.pod, guards(tc.pod, tc.budgets))
			var reason Reason
			if got.refusal != nil {
				reason = got.refusal.reason
			}
			budget := ""
			if got.budget != nil {
				budget = got.budget.Name
			}
			if reason != tc.want || budget != tc.budget || got.counts != tc.counts {
				t.Errorf("got refusal %q by budget %q, counts %t; want %q, %q, %t", reason, budget, got.counts, tc.want, tc.budget, tc.counts)
			}
		})
	}
}

func TestTooManyBudgetsAreNamedInOrder(t *testing.T) {
	pod := newPod("p")
	got := admit(pod, guards(pod, []*budget{newPDB("zebra"), newPDB("ant")}))
	if got.refusal.by != "ant, zebra" {
		t.Errorf("got %q", got.refusal.by)
	}
}

// unsynced is a budget that its controller cannot compute.
func unsynced(pdb *policyv1.PodDisruptionBudget) {
	pdb.Status.DisruptionsAllowed = 0
	pdb.Status.Conditions = []metav1.Condition{{
		Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason,
	}}
}

func TestWhichPodsAreNeverEvictable(t *testing.T) {
	expecting := func(expected, current, desired int32) func(*policyv1.PodDisruptionBudget) {
		return func(b *policyv1.PodDisruptionBudget) {
			b.Status.ExpectedPods, b.Status.CurrentHealthy, b.Status.DesiredHealthy = expected, current, desired
		}
	}
	unobserved := func(b *policyv1.PodDisruptionBudget) { b.Generation++ }
	other := func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector.MatchLabels["app"] = "db" }
	for name, tc := range map[string]struct {
		budgets     []*budget
		want, known bool
	}{
		"without a budget":                       {nil, false, true},
		"all are wanted and healthy":             {[]*budget{newPDB("b", expecting(1, 1, 1))}, true, true},
		"all are wanted, and not all healthy":    {[]*budget{newPDB("b", expecting(3, 2, 3))}, true, true},
		"more are wanted than there are":         {[]*budget{newPDB("b", expecting(1, 1, 2))}, true, true},
		"one may go, but not now":                {[]*budget{newPDB("b", expecting(3, 2, 2))}, false, true},
		"it counts none":                         {[]*budget{newPDB("b", expecting(0, 1, 1))}, false, false},
		"its controller has not seen it":         {[]*budget{newPDB("b", expecting(1, 1, 1), unobserved)}, false, false},
		"its controller cannot compute it":       {[]*budget{newPDB("b", expecting(0, 0, 0), unsynced)}, false, true},
		"another pod would not help against two": {[]*budget{newPDB("a", expecting(1, 1, 1)), newPDB("b", expecting(1, 1, 1))}, false, true},
		"it is for others":                       {[]*budget{newPDB("b", expecting(1, 1, 1), other)}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			var all []*policyv1.PodDisruptionBudget
			for _, b := range tc.budgets {
				all = append(all, b.PodDisruptionBudget)
			}
			if got, known := NeverEvictable(newPod("p"), all); got != tc.want || known != tc.known {
				t.Errorf("it is %t, known: %t", got, known)
			}
		})
	}
}
