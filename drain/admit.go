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

// maxUnconfirmed is the server's limit: a budget with more evictions that its controller has not confirmed takes no
// further one.
const maxUnconfirmed = 2000

// budget is a disruption budget with its selector ready for use.
type budget struct {
	*policyv1.PodDisruptionBudget
	selector labels.Selector
}

// selects is another text for selectors that differ: those that select all and none have the same by themselves.
func (b *budget) selects() string { return fmt.Sprint(b.selector.Empty(), b.selector) }

// newBudget compiles the selector. One that cannot be compiled selects nothing, as for the server.
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

// admission is what the server would answer to an eviction.
type admission struct {
	// budget is the one that the server would consult. Nil if it would consult none.
	budget *budget
	// counts tells that the eviction would use up one of the disruptions that the budget allows.
	counts bool
	// refusal says why it would be refused. Nil if it would be accepted.
	refusal *obstacle
}

// obstacle is a Blocker before it is known whose it is and since when.
type obstacle struct {
	reason  Reason
	by      string
	message string
}

// admit is the server's rule for evictions, applied to what we have seen: see Create in
// pkg/registry/core/pod/storage/eviction.go of Kubernetes 1.37. The order of the questions is the server's, too.
func admit(pod *corev1.Pod, guards []*budget) admission {
	switch {
	case bypassesBudgets(pod), len(guards) == 0:
		return admission{}
	case len(guards) > 1:
		return admission{refusal: tooManyBudgets(guards)}
	}
	b := guards[0]
	if !podutils.IsPodReady(pod) && toleratesUnready(b) {
		return admission{budget: b}
	}
	return admission{budget: b, counts: true, refusal: refusalOf(b)}
}

// bypassesBudgets tells pods that serve nobody any more, or not yet.
func bypassesBudgets(pod *corev1.Pod) bool {
	return isFinished(pod) || pod.Status.Phase == corev1.PodPending || isTerminating(pod)
}

func isTerminating(pod *corev1.Pod) bool {
	return !pod.DeletionTimestamp.IsZero()
}

// toleratesUnready reports whether the budget lets an unready pod go without counting it.
func toleratesUnready(b *budget) bool {
	if p := b.Spec.UnhealthyPodEvictionPolicy; p != nil && *p == policyv1.AlwaysAllow {
		return true
	}
	return b.Status.DesiredHealthy > 0 && b.Status.CurrentHealthy >= b.Status.DesiredHealthy
}

// refusalOf says why the budget refuses, or nil if it does not. Of several reasons it gives the one that helps most: a
// controller that fails to compute a budget also leaves it unobserved.
func refusalOf(b *budget) *obstacle {
	s := b.Status
	observed, confirmed := s.ObservedGeneration >= b.Generation, len(s.DisruptedPods) <= maxUnconfirmed
	if observed && confirmed && s.DisruptionsAllowed > 0 {
		return nil
	}
	if c := syncFailure(b); c != nil {
		return &obstacle{BudgetSyncFailed, b.Name, BudgetSyncFailed.advise(fmt.Sprintf("budget %s cannot be computed (%s)",
			b.Name, c.Message))}
	}
	switch {
	case !observed:
		return &obstacle{BudgetNotObserved, b.Name, BudgetNotObserved.advise("the controller of disruption budgets has not yet seen the " +
			"newest version of budget " + b.Name)}
	case !confirmed:
		return &obstacle{BudgetNotObserved, b.Name, BudgetNotObserved.advise(fmt.Sprintf("the controller of disruption budgets has not "+
			"confirmed more than %d evictions under budget %s", maxUnconfirmed, b.Name))}
	default:
		return exhaustion(b)
	}
}

// exhaustion tells a budget that waits for healthy pods from one that no health would satisfy.
func exhaustion(b *budget) *obstacle {
	s := b.Status
	if s.ExpectedPods == 0 {
		return &obstacle{BudgetImpossible, b.Name, fmt.Sprintf("budget %s never allows an eviction, because it counts by the "+
			"scale of its pods' controllers and they have none; give it minAvailable with a number, not a percentage, and no "+
			"maxUnavailable", b.Name)}
	}
	if wantsAll(b) && s.CurrentHealthy >= s.ExpectedPods {
		return &obstacle{BudgetImpossible, b.Name, BudgetImpossible.advise(fmt.Sprintf("budget %s wants all of its %d pods healthy, and "+
			"they are, so it never allows an eviction", b.Name, s.ExpectedPods))}
	}
	if s.CurrentHealthy > s.DesiredHealthy {
		return &obstacle{BudgetExhausted, b.Name, fmt.Sprintf("budget %s allows no disruption now: its controller has yet to "+
			"count what earlier evictions changed", b.Name)}
	}
	return &obstacle{BudgetExhausted, b.Name, BudgetExhausted.advise(fmt.Sprintf("budget %s allows no disruption now: %d of %d pods "+
		"are healthy and %d must be", b.Name, s.CurrentHealthy, s.ExpectedPods, s.DesiredHealthy))}
}

// wantsAll reports whether the budget allows no disruption however healthy its pods are.
func wantsAll(b *budget) bool { return b.Status.DesiredHealthy >= b.Status.ExpectedPods }

// NeverEvictable reports whether the pod has one budget, and that one allows no eviction of it even when all of its pods are
// healthy: only another pod beside them would let it go. Whether the pod could be evicted today for another reason does
// not matter. It is not known while the budget's controller has yet to see the budget, or to count any pod for it.
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

// syncFailure is what the budget's controller says of why it cannot compute the budget; nil if it says nothing.
func syncFailure(b *budget) *metav1.Condition {
	c := apimeta.FindStatusCondition(b.Status.Conditions, policyv1.DisruptionAllowedCondition)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != policyv1.SyncFailedReason {
		return nil
	}
	return c
}

func tooManyBudgets(guards []*budget) *obstacle {
	names := make([]string, len(guards))
	for i, b := range guards {
		names[i] = b.Name
	}
	by := strings.Join(names, ", ")
	return &obstacle{MultipleBudgets, by, MultipleBudgets.advise("budgets " + by + " all select this pod, and the server evicts no pod " +
		"with more than one")}
}
