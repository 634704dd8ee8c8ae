// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// after does something in a while, later soon: when the watches have shown what there is now.
func (s *simulation) after(d time.Duration, do func()) {
	time.AfterFunc(d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		do()
	})
}

func (s *simulation) later(do func()) { s.after(5*latency, do) }

// endContainers is a kubelet that confirms that a pod has ended. One that does not report
// confirms nothing.
func (s *simulation) endContainers(uid types.UID) {
	pod := s.pods[uid]
	if pod == nil || len(pod.Finalizers) > 0 || !reports(s.nodes[pod.Spec.NodeName]) {
		return
	}
	if s.fates[uid] == "" {
		s.fates[uid] = ended
	}
	// A DaemonSet whose pod is the last of a node races with the end of the drain. Here it wins.
	if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == "DaemonSet" {
		s.start(pod, pod.Spec.NodeName)
	}
	s.remove(pod)
	s.later(s.countBudgets)
}

func reports(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// complete is a pod that ends by itself.
func (s *simulation) complete(namespace, name string) {
	pod := s.named(namespace, name)
	if pod == nil || finished(pod) || !reports(s.nodes[pod.Spec.NodeName]) {
		return
	}
	s.fates[pod.UID] = completed
	pod = pod.DeepCopy()
	pod.Status.Phase, pod.Status.Conditions = corev1.PodSucceeded, nil
	s.store(pod)
	s.later(s.countBudgets)
}

// replace is the controller of a pod that is going, and the scheduler. A DaemonSet waits until
// the pod is gone.
func (s *simulation) replace(old *corev1.Pod) {
	owner := metav1.GetControllerOf(old)
	if owner == nil || owner.Kind == "DaemonSet" {
		return
	}
	s.start(old, "")
}

// start starts a pod like one that there was. It becomes ready if that was, and if a node
// takes it.
func (s *simulation) start(old *corev1.Pod, node string) {
	s.serial++
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: old.Namespace, Name: fmt.Sprintf("%s-again-%d", old.Labels["app"], s.serial), Labels: old.Labels,
			UID: types.UID(fmt.Sprint("again-", s.serial)), OwnerReferences: old.OwnerReferences,
		},
		Spec: *old.Spec.DeepCopy(), Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	pod.Spec.NodeName = node
	if node == "" {
		pod.Spec.NodeName = s.schedule(pod)
	}
	s.store(pod)
	s.later(s.countBudgets)
	if pod.Spec.NodeName != "" && ready(old) {
		s.after(2*time.Second, func() { s.run(pod.UID) })
	}
}

func (s *simulation) run(uid types.UID) {
	pod := s.pods[uid]
	if pod == nil || pod.DeletionTimestamp != nil || !reports(s.nodes[pod.Spec.NodeName]) {
		return
	}
	pod = pod.DeepCopy()
	makeReady(pod)
	s.store(pod)
	s.later(s.countBudgets)
}

func makeReady(pod *corev1.Pod) {
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

// schedule gives the first node that can take a pod, or none.
func (s *simulation) schedule(pod *corev1.Pod) string {
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		if s.fits(pod, s.nodes[name]) {
			return name
		}
	}
	return ""
}

func (s *simulation) fits(pod *corev1.Pod, node *corev1.Node) bool {
	if node.Spec.Unschedulable {
		return false
	}
	for _, t := range node.Spec.Taints {
		if !slices.ContainsFunc(pod.Spec.Tolerations, func(tolerated corev1.Toleration) bool { return tolerated.Key == t.Key }) {
			return false
		}
	}
	for key, value := range pod.Spec.NodeSelector {
		if node.Labels[key] != value {
			return false
		}
	}
	free := node.Status.Allocatable.Cpu().DeepCopy()
	for _, other := range s.pods {
		if other.Spec.NodeName != node.Name || finished(other) {
			continue
		}
		if pod.Spec.Affinity != nil && other.Labels["app"] == pod.Labels["app"] {
			return false // there is no other affinity here than to be alone
		}
		free.Sub(cpuOf(other))
	}
	return free.Cmp(cpuOf(pod)) >= 0
}

func cpuOf(pod *corev1.Pod) resource.Quantity {
	return *pod.Spec.Containers[0].Resources.Requests.Cpu()
}

// countBudgets is the controller of budgets.
func (s *simulation) countBudgets() {
	for _, name := range slices.Sorted(maps.Keys(s.budgets)) {
		if !s.frozen[name] {
			s.countBudget(s.budgets[name])
		}
	}
}

func (s *simulation) countBudget(of *policyv1.PodDisruptionBudget) {
	b := of.DeepCopy()
	app := b.Spec.Selector.MatchLabels["app"]
	healthy, matching, pending := int32(0), int32(0), map[string]metav1.Time{}
	for _, pod := range s.pods {
		if pod.Labels["app"] != app {
			continue
		}
		matching++
		since, disrupted := b.Status.DisruptedPods[pod.Name]
		switch {
		case pod.DeletionTimestamp != nil:
		case disrupted:
			pending[pod.Name] = since
		case ready(pod):
			healthy++
		}
	}
	expected := matching
	var desired int32
	if b.Spec.MaxUnavailable != nil {
		expected = s.scale[app]
		desired = expected - b.Spec.MaxUnavailable.IntVal
	} else {
		desired = b.Spec.MinAvailable.IntVal
	}
	allowed := max(0, healthy-desired)
	if expected <= 0 {
		allowed = 0
	}
	b.Status = policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: b.Generation, DisruptedPods: pending, ExpectedPods: expected, DesiredHealthy: desired,
		CurrentHealthy: healthy, DisruptionsAllowed: allowed,
	}
	if s.budgets[b.Name] == nil || !equality.Semantic.DeepEqual(b.Status, of.Status) {
		s.store(b)
	}
}
