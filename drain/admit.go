// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubectl/pkg/util/podutils"
)

// maxUnconfirmed is the server's limit: a budget with more evictions that its controller has not confirmed accepts no further
// eviction.
const maxUnconfirmed = 2000

// budget is a PodDisruptionBudget with its compiled selector.
type budget struct {
	*policyv1.PodDisruptionBudget
	selector labels.Selector
}

// selects differs for different selectors. The selectors of all and of no pods have the same text, so it includes Empty.
func (b *budget) selects() string { return fmt.Sprint(b.selector.Empty(), b.selector) }

// newBudget compiles the selector. As on the server, an invalid selector selects no pod.
func newBudget(pdb *policyv1.PodDisruptionBudget) *budget {
	selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
	if err != nil {
		selector = labels.Nothing()
	}
	return &budget{PodDisruptionBudget: pdb, selector: selector}
}

// guards returns the budgets of the pod's namespace that select the pod, by name.
func guards(pod *corev1.Pod, budgets []*budget) []*budget {
	var of []*budget
	for _, b := range budgets {
		if b.Namespace == pod.Namespace && b.selector.Matches(labels.Set(pod.Labels)) {
			of = append(of, b)
		}
	}
	slices.SortFunc(of, func(a, b *budget) int { return strings.Compare(a.Name, b.Name) })
	return of
}

// admission predicts the server's answer to an eviction.
type admission struct {
	// budget is the budget that the server would consult. Nil: none.
	budget *budget
	// counts: the eviction would use up one of the disruptions that the budget allows.
	counts bool
	// refusal is nil if the server would accept the eviction.
	refusal *obstacle
}

// admit applies the server's rule for evictions to the pod and the budgets that the watches show: see Create in
// pkg/registry/core/pod/storage/eviction.go of Kubernetes 1.37. The order of the checks is the server's, too.
func admit(pod *corev1.Pod, guards []*budget) admission {
	switch {
	case bypassesBudgets(pod), len(guards) == 0:
		return admission{}
	case len(guards) > 1:
		names := make([]string, len(guards))
		for i, b := range guards {
			names[i] = b.Name
		}
		by := strings.Join(names, ", ")
		return admission{refusal: MultipleBudgets.obstacle(by, "budgets %s all select this pod, and the server evicts no pod with "+
			"more than one", by)}
	}
	b := guards[0]
	if !podutils.IsPodReady(pod) && toleratesUnready(b) {
		return admission{budget: b}
	}
	return admission{budget: b, counts: true, refusal: refusalOf(b)}
}

// bypassesBudgets reports that the pod does not serve: it has ended, is ending, or has not begun.
func bypassesBudgets(pod *corev1.Pod) bool {
	return isFinished(pod) || pod.Status.Phase == corev1.PodPending || isTerminating(pod)
}

// toleratesUnready reports whether the budget lets an unready pod leave without counting it.
func toleratesUnready(b *budget) bool {
	if p := b.Spec.UnhealthyPodEvictionPolicy; p != nil && *p == policyv1.AlwaysAllow {
		return true
	}
	return b.Status.DesiredHealthy > 0 && b.Status.CurrentHealthy >= b.Status.DesiredHealthy
}

// refusalOf returns the cause for which the budget refuses evictions, or nil. If several causes apply, it returns the most
// helpful: a controller that fails to compute a budget also leaves it unobserved.
func refusalOf(b *budget) *obstacle {
	s := b.Status
	observed, confirmed := s.ObservedGeneration >= b.Generation, len(s.DisruptedPods) <= maxUnconfirmed
	failure := syncFailure(b)
	switch {
	case observed && confirmed && s.DisruptionsAllowed > 0:
		return nil
	case failure != nil:
		return BudgetSyncFailed.obstacle(b.Name, "budget %s cannot be computed (%s)", b.Name, failure.Message)
	case !observed:
		return BudgetNotObserved.obstacle(b.Name, "the controller of disruption budgets has not yet seen the newest version of budget %s", b.Name)
	case !confirmed:
		return BudgetNotObserved.obstacle(b.Name, "the controller of disruption budgets has not confirmed more than %d evictions under "+
			"budget %s", maxUnconfirmed, b.Name)
	case s.ExpectedPods == 0:
		return &obstacle{BudgetImpossible, b.Name, fmt.Sprintf("budget %s never allows an eviction, because it counts by the "+
			"scale of its pods' controllers and they have none; give it minAvailable with a number, not a percentage, and no "+
			"maxUnavailable", b.Name)}
	case wantsAll(b) && s.CurrentHealthy >= s.ExpectedPods:
		return BudgetImpossible.obstacle(b.Name, "budget %s wants all of its %d pods healthy, and they are, so it never allows an eviction",
			b.Name, s.ExpectedPods)
	case s.CurrentHealthy > s.DesiredHealthy:
		return &obstacle{BudgetExhausted, b.Name, fmt.Sprintf("budget %s allows no disruption now: its controller has yet to "+
			"count the effect of earlier evictions", b.Name)}
	default:
		return BudgetExhausted.obstacle(b.Name, "budget %s allows no disruption now: %d of %d pods are healthy and %d must be",
			b.Name, s.CurrentHealthy, s.ExpectedPods, s.DesiredHealthy)
	}
}

// wantsAll reports whether the budget allows no disruption however healthy its pods are.
func wantsAll(b *budget) bool { return b.Status.DesiredHealthy >= b.Status.ExpectedPods }

// NeverEvictable reports whether the pod has one budget, and that one allows no eviction of it even when all of its pods are
// healthy: only one more pod would let it leave. Other causes that allow its eviction today do not matter. known is false
// while the budget's controller has yet to see the budget, or to count any pod for it.
func NeverEvictable(pod *corev1.Pod, budgets []*policyv1.PodDisruptionBudget) (never, known bool) {
	all := make([]*budget, len(budgets))
	for i, b := range budgets {
		all[i] = newBudget(b)
	}
	of := guards(pod, all)
	if len(of) != 1 || syncFailure(of[0]) != nil {
		return false, true
	}
	s := of[0].Status
	if s.ObservedGeneration < of[0].Generation || s.ExpectedPods == 0 {
		return false, false
	}
	return wantsAll(of[0]), true
}

// syncFailure returns the condition by which the budget's controller reports that it cannot compute the budget, or nil.
func syncFailure(b *budget) *metav1.Condition {
	c := apimeta.FindStatusCondition(b.Status.Conditions, policyv1.DisruptionAllowedCondition)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != policyv1.SyncFailedReason {
		return nil
	}
	return c
}
