// SPDX-License-Identifier: Apache-2.0

package drain

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubectl/pkg/util/podutils"
)

// forecast predicts the status of budgets, one eviction after the other.
type forecast struct {
	by map[string][]*budget
	// coming counts the ready replacements to come.
	coming map[*budget]int32
}

func newForecast(s Snapshot) *forecast {
	f := &forecast{by: map[string][]*budget{}, coming: map[*budget]int32{}}
	for namespace, pdbs := range s.Budgets {
		for _, pdb := range pdbs {
			f.by[namespace] = append(f.by[namespace], newBudget(pdb.DeepCopy()))
		}
	}
	for _, n := range s.Nodes {
		for _, pod := range n.Pods {
			if _, known := f.by[pod.Namespace]; !known {
				f.by[pod.Namespace] = nil
			}
		}
	}
	return f
}

// leaves subtracts the health of an evicted pod from its budgets until a replacement is ready. From then on both pods count,
// until the evicted pod has ended.
func (f *forecast) leaves(pod *corev1.Pod, replaced bool) {
	for _, b := range guards(pod, f.by[pod.Namespace]) {
		f.take(b, pod)
		if metav1.GetControllerOfNoCopy(pod) == nil || isFinished(pod) {
			continue // no controller starts it again
		}
		b.count(1)
		if replaced && podutils.IsPodReady(pod) {
			f.coming[b]++
		}
	}
}

// ended counts the end of an evicted pod.
func (f *forecast) ended(pod *corev1.Pod) {
	for _, b := range guards(pod, f.by[pod.Namespace]) {
		b.count(-1)
	}
}

// count adds pods. A budget with a number of available pods counts the present pods; other budgets depend on the
// scale of the controllers, which stays the same.
func (b *budget) count(more int32) {
	if m := b.Spec.MinAvailable; b.Spec.MaxUnavailable == nil && (m == nil || m.Type == intstr.Int) {
		b.Status.ExpectedPods += more
	}
}

// completed counts the end of a pod that has ended by itself.
func (f *forecast) completed(pod *corev1.Pod) {
	for _, b := range guards(pod, f.by[pod.Namespace]) {
		f.take(b, pod)
		b.count(-1)
	}
}

func (f *forecast) take(b *budget, pod *corev1.Pod) {
	if !podutils.IsPodReady(pod) {
		return
	}
	b.Status.CurrentHealthy--
	b.Status.DisruptionsAllowed = max(0, b.Status.DisruptionsAllowed-1)
}

// settle lets the replacements become ready, and the controller of budgets count them, if it computes the budget.
func (f *forecast) settle() {
	for b, n := range f.coming {
		delete(f.coming, b)
		if o := refusalOf(b); o != nil && (o.reason == BudgetNotObserved || o.reason == BudgetSyncFailed) {
			continue
		}
		b.Status.CurrentHealthy += n
		b.Status.DisruptionsAllowed = max(0, b.Status.CurrentHealthy-b.Status.DesiredHealthy)
	}
}
