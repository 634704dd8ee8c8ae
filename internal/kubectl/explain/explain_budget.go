// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubectl/pkg/util/podutils"

	"github.com/slipway-k8s/slipway/internal/kubectl/state"
)

// maxNamed limits the objects of a kind that a report names.
const maxNamed = 5

// explainBudget shows the arithmetic of the PodDisruptionBudget.
func explainBudget(x explanation) {
	namespace, name := nameIn(x.cause.By)
	b := x.budget(namespace, name)
	if b == nil {
		x.unknownBudget(namespace, name)
		return
	}
	x.detail("%s", arithmetic(*b))
	unhealthy := x.unhealthy(*b)
	if len(unhealthy) > 0 {
		p := unhealthy[0]
		x.remedy("describe its pods that are not Ready, and fix the cause", "kubectl -n %s describe pod %s", p.Namespace, p.Name)
	}
	x.scaleUp(*b)
	x.relax(*b)
}

func (x explanation) unknownBudget(namespace, name string) {
	if x.unread(Budgets) {
		x.detail("the PodDisruptionBudget could not be read, so there is no arithmetic")
	}
	if name != "" {
		x.remedy("see the budget and its pods", "kubectl -n %s describe pdb %s", namespace, name)
		return
	}
	namespace, _ = x.first()
	x.remedy("see the budgets of the namespace", "kubectl -n %s get pdb", namespace)
}

// arithmetic returns the numbers of pods, of healthy pods, and of pods that must be healthy.
func arithmetic(b Budget) string {
	s := b.Status
	wants := "no limit"
	switch {
	case b.Spec.MinAvailable != nil:
		wants = "minAvailable " + b.Spec.MinAvailable.String()
	case b.Spec.MaxUnavailable != nil:
		wants = "maxUnavailable " + b.Spec.MaxUnavailable.String()
	}
	text := fmt.Sprintf("PodDisruptionBudget %s/%s: %s, %d healthy, %s → needs %d healthy, so %d may be disrupted now",
		b.Namespace, b.Name, pods(int(s.ExpectedPods)), s.CurrentHealthy, wants, s.DesiredHealthy, s.DisruptionsAllowed)
	if n := len(s.DisruptedPods); n > 0 {
		text += fmt.Sprintf("; %d evicted pods of it have not ended yet", n)
	}
	return text
}

func pods(n int) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

// unhealthy returns the pods of the budget that are not Ready, and reports where they are and why.
func (x explanation) unhealthy(b Budget) []corev1.Pod {
	found := notReadyOf(b)
	for i, p := range found {
		if i == maxNamed {
			x.detail("and %d more that are not Ready", len(found)-maxNamed)
			break
		}
		x.detail("%s", notReady(p))
	}
	if len(found) == 0 && x.unread(BudgetPods) {
		x.detail("not all of its pods could be read, so those that are not Ready are not known")
	}
	return found
}

func notReadyOf(b Budget) []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(b.Pods), func(p corev1.Pod) bool {
		return podutils.IsPodReady(&p) || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	})
}

func notReady(p corev1.Pod) string {
	where := "on no node yet"
	if p.Spec.NodeName != "" {
		where = "on " + p.Spec.NodeName
	}
	text := fmt.Sprintf("%s %s is not Ready", p.Name, where)
	if p.DeletionTimestamp != nil {
		return text + " (it is ending)"
	}
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Waiting != nil && c.State.Waiting.Reason != "" {
			return fmt.Sprintf("%s (%s)", text, c.State.Waiting.Reason)
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return fmt.Sprintf("%s (%s: %s)", text, c.Reason, c.Message)
		}
	}
	return text
}

// maxMore limits the additional replicas of a proposal.
const maxMore = 10

// scaleUp proposes replicas, where the pods have one owner that can be scaled, and where
// more of them let one go. Under maxUnavailable they do not.
func (x explanation) scaleUp(b Budget) {
	kind, owner := scalable(b.Pods)
	if owner == "" || b.Status.ExpectedPods == 0 {
		return
	}
	for more := 1; more <= maxMore; more++ {
		if replicas := int(b.Status.ExpectedPods) + more; int(b.Status.CurrentHealthy)+more > desired(b, replicas) {
			x.remedy(fmt.Sprintf("run %d more of its pods: when they are Ready, one may leave", more),
				"kubectl -n %s scale %s %s --replicas=%d", b.Namespace, kind, owner, replicas)
			return
		}
	}
}

// desired returns the number of healthy pods that the budget requires.
func desired(b Budget, pods int) int {
	value, least := b.Spec.MinAvailable, true
	if value == nil {
		value, least = b.Spec.MaxUnavailable, false
	}
	if value == nil {
		return int(b.Status.DesiredHealthy)
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(value, pods, true)
	if err != nil {
		return pods // the server allows nothing either
	}
	if least {
		return n
	}
	return max(pods-n, 0)
}

// scalable returns the workload of all pods, if they share one that can be scaled.
func scalable(pods []corev1.Pod) (kind, name string) {
	for i, p := range pods {
		k, n := state.WorkloadOf(&p)
		if k = strings.ToLower(k); k != "deployment" && k != "statefulset" && k != "replicaset" || i > 0 && (k != kind || n != name) {
			return "", ""
		}
		kind, name = k, n
	}
	return kind, name
}

// relax proposes the change of the budget that lets one more pod go.
func (x explanation) relax(b Budget) {
	s := b.Status
	healthy, expected := int(s.CurrentHealthy), int(s.ExpectedPods)
	if expected == 0 { // the controller could not count; with a number, it needs no scale
		expected = len(b.Pods)
		healthy = expected - len(notReadyOf(b))
	}
	if len(b.Pods) == 0 && s.ExpectedPods == 0 {
		x.remedy("correct the budget: give it minAvailable with a number, and no maxUnavailable", "kubectl -n %s edit pdb %s", b.Namespace, b.Name)
		return
	}
	const text = "or ask the owner of the budget to relax it, so that one more pod may leave"
	if b.Spec.MaxUnavailable != nil && s.ExpectedPods > 0 && x.cause.Code != "BudgetSyncFailed" {
		x.remedy(text, `kubectl -n %s patch pdb %s --type=merge -p '{"spec":{"maxUnavailable":%d}}'`,
			b.Namespace, b.Name, max(expected-healthy+1, 1))
		return
	}
	x.remedy(text, `kubectl -n %s patch pdb %s --type=merge -p '{"spec":{"minAvailable":%d,"maxUnavailable":null}}'`,
		b.Namespace, b.Name, max(healthy-1, 0))
}

func (x explanation) observation() {
	if b := x.budget(nameIn(x.cause.By)); b != nil {
		x.detail("PodDisruptionBudget %s/%s: generation %d, of which its controller has observed %d; %d evictions are not confirmed",
			b.Namespace, b.Name, b.Generation, b.Status.ObservedGeneration, len(b.Status.DisruptedPods))
	}
}

// explainBudgets is for pods that several budgets select.
func explainBudgets(x explanation) {
	namespace, _ := nameIn(x.cause.By)
	last := ""
	for part := range strings.SplitSeq(x.cause.By, ", ") {
		_, name := nameIn(part)
		if b := x.budget(namespace, name); b != nil {
			x.detail("%s; it selects %s", arithmetic(*b), metav1.FormatLabelSelector(b.Spec.Selector))
		}
		last = name
	}
	x.remedy("compare the budgets: change their selectors so that one remains for each pod", "kubectl -n %s get pdb -o yaml", namespace)
	x.remedy("or delete one of them, if the other is enough for its pods", "kubectl -n %s delete pdb %s", namespace, last)
}
