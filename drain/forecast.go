// SPDX-License-Identifier: Apache-2.0

package drain

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubectl/pkg/util/podutils"
)

// forecast is what budgets would allow, one eviction after the other.
type forecast struct {
	by map[string][]*budget
	// coming counts, by budget, the ready pods that will take the place of some that left.
	coming map[*budget]int32
	// still are budgets that nobody computes now.
	still map[*budget]bool
}

func newForecast(s Snapshot) *forecast {
	f := &forecast{by: map[string][]*budget{}, coming: map[*budget]int32{}, still: map[*budget]bool{}}
	for namespace, pdbs := range s.Budgets {
		for _, pdb := range pdbs {
			b := newBudget(pdb.DeepCopy())
			f.by[namespace] = append(f.by[namespace], b)
			if o := refusalOf(b); o != nil && (o.reason == BudgetNotObserved || o.reason == BudgetSyncFailed) {
				f.still[b] = true
			}
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

// leaves takes the health of a pod that is sent away from the budgets that select it, until a replacement is ready. From then
// on there are both pods, until the one has ended.
func (f *forecast) leaves(pod *corev1.Pod, replaced bool) {
	for _, b := range guards(pod, f.by[pod.Namespace]) {
		f.take(b, pod)
		if !isStartedAgain(pod) {
			continue
		}
		b.count(1)
		if replaced && podutils.IsPodReady(pod) {
			f.coming[b]++
		}
	}
}

// ended is told that a pod is gone.
func (f *forecast) ended(pod *corev1.Pod) {
	for _, b := range guards(pod, f.by[pod.Namespace]) {
		b.count(-1)
	}
}

// count is told that there are more pods. A budget that wants a number of pods counts those that there are; others go by the
// scale of their controllers, which stays the same.
func (b *budget) count(more int32) {
	if m := b.Spec.MinAvailable; b.Spec.MaxUnavailable == nil && (m == nil || m.Type == intstr.Int) {
		b.Status.ExpectedPods += more
	}
}

func isStartedAgain(pod *corev1.Pod) bool {
	return metav1.GetControllerOfNoCopy(pod) != nil && !isFinished(pod)
}

// completed takes a pod that has ended by itself from the budgets that select it.
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

// settle lets the replacements become ready, and the controller of budgets count them.
func (f *forecast) settle() {
	for b, n := range f.coming {
		delete(f.coming, b)
		if f.still[b] {
			continue
		}
		b.Status.CurrentHealthy += n
		b.Status.DisruptionsAllowed = max(0, b.Status.CurrentHealthy-b.Status.DesiredHealthy)
	}
}
