// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// stepModel is a node whose pods have no budgets, and who has seen what.
type stepModel struct {
	memory
	now     time.Time
	timeout time.Duration
	rules   map[string]Rule // by role
	pods    []*corev1.Pod
	flying  []send
	made    int
	since   map[types.UID]time.Time // when the turn of each pod came
}

func drawTime(t *rapid.T, what string) time.Duration {
	return time.Duration(rapid.SampledFrom([]int{0, 0, 2, 5}).Draw(t, what)) * time.Second
}

func drawRule(t *rapid.T, role string) Rule {
	return Rule{
		Name: role, Pods: labels.SelectorFromSet(labels.Set{"role": role}),
		Cluster:  rapid.Bool().Draw(t, "of the cluster"),
		Behavior: rapid.SampledFrom([]Behavior{Evict, Skip, WaitCompleted}).Draw(t, "behavior"),
		Order:    rapid.SampledFrom([]int32{-1, 0, 0, 7}).Draw(t, "order"),
		Deadline: drawTime(t, "deadline"),
	}
}

func (m *stepModel) come(t *rapid.T) {
	m.made++
	pod := newPod(fmt.Sprintf("p%d", m.made), priority(rapid.SampledFrom([]int32{-10, 0, 0, 1000, math.MaxInt32}).Draw(t, "priority")))
	pod.Namespace = rapid.SampledFrom([]string{"default", "default", "own"}).Draw(t, "namespace")
	pod.Labels["role"] = rapid.SampledFrom([]string{"batch", "cache", "db", "web"}).Draw(t, "role")
	if rapid.IntRange(1, 4).Draw(t, "DaemonSet") == 4 {
		ownedBy("apps/v1", "DaemonSet", true)(pod)
		pod.OwnerReferences[0].UID = pod.UID // one of its own each time, or its pods would be said to recur
	}
	m.pods = append(m.pods, pod)
}

func (m *stepModel) land(a answer) {
	if len(m.flying) == 0 {
		return
	}
	s := m.flying[0]
	m.flying = m.flying[1:]
	if a.outcome == accepted {
		m.change(s.pod, endingAt(m.now.Add(time.Second)))
	}
	m.learned(answered{answer: a, pod: s.pod, by: s.by}, m.now, 0.5)
}

func (m *stepModel) complete(pod *corev1.Pod) {
	if pod != nil {
		m.change(pod, phase(corev1.PodSucceeded))
	}
}

func (m *stepModel) change(pod *corev1.Pod, change func(*corev1.Pod)) {
	i := slices.IndexFunc(m.pods, func(p *corev1.Pod) bool { return p.UID == pod.UID })
	m.pods[i] = m.pods[i].DeepCopy()
	change(m.pods[i])
}

// end removes the first pod that is terminating.
func (m *stepModel) end() {
	if i := slices.IndexFunc(m.pods, func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil }); i >= 0 {
		m.pods = slices.Delete(slices.Clone(m.pods), i, i+1)
	}
}
