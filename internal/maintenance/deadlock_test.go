// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"maps"
	"slices"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// refuse is what a drain says whose pods do not leave.
func (w *world) refuse(e *lifecyclev1alpha1.LifecycleEvent, n *machine) {
	b := lifecyclev1alpha1.Blocker{Object: "Pod shop/cart", Reason: blockedByBudget, Message: "its budget allows none"}
	if n.refusedBy != "" {
		b.By, b.Since = kindBudget+n.refusedBy, &metav1.Time{Time: w.now}
	}
	if old := e.Status.Blockers; len(old) > 0 && old[0].By == b.By {
		b.Since = old[0].Since
	}
	e.Status.Blockers, e.Status.BlockersTotal = []lifecyclev1alpha1.Blocker{b}, e.Status.Progress.Total
}

// starve adds a pod of each budget that is starved, which could run anywhere.
func (w *world) starve(f *Facts) {
	f.BudgetStatuses = map[string]policyv1.PodDisruptionBudgetStatus{}
	for _, name := range slices.Sorted(maps.Keys(w.starved)) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "new"}}
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.NewTime(w.starved[name]),
		}}
		f.Unscheduled = append(f.Unscheduled, Unscheduled{Pod: pod, Budgets: []string{name}})
		f.BudgetStatuses[name] = policyv1.PodDisruptionBudgetStatus{ExpectedPods: 2, DesiredHealthy: 1, CurrentHealthy: 1}
	}
}

func (w *world) starveOrFeed(d *datadriven.TestData) {
	for _, arg := range d.CmdArgs {
		if d.Cmd == "starve" {
			w.starved[arg.Key] = w.now
		} else {
			delete(w.starved, arg.Key)
		}
	}
}
