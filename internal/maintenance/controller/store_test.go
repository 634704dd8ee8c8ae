// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/internal/maintenance"
)

// Most of what happens to pods does not matter, and a pass looks at the whole cluster.
func TestAStoreTellsOfWhatDiffers(t *testing.T) {
	told := 0
	s := newStore(maintenance.ReadNotReady, func() { told++ })
	pod := func(name string, ready corev1.ConditionStatus) *corev1.Pod {
		p := withReady(podAt("n1", "shop", nil), ready)
		p.Name, p.Status.Phase = name, corev1.PodRunning
		p.UID = "uid-of-pod"
		return p
	}
	restarted := pod("a", corev1.ConditionFalse)
	restarted.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 7}}
	for _, step := range []struct {
		name  string
		do    func() error
		tells bool
	}{
		{"all that there is, which is nothing", func() error { return s.Replace(nil, "1") }, true},
		{"one that does not matter", func() error { return s.Add(pod("a", corev1.ConditionTrue)) }, false},
		{"it does", func() error { return s.Update(pod("a", corev1.ConditionFalse)) }, true},
		{"it does as before", func() error { return s.Update(restarted) }, false},
		{"it has another name", func() error { return s.Update(pod("b", corev1.ConditionFalse)) }, true},
		{"it does not any more", func() error { return s.Update(pod("b", corev1.ConditionTrue)) }, true},
		{"nor when it is gone", func() error { return s.Delete(pod("b", corev1.ConditionTrue)) }, false},
		{"one that matters", func() error { return s.Add(pod("c", corev1.ConditionFalse)) }, true},
		{"it is gone", func() error { return s.Delete(pod("c", corev1.ConditionFalse)) }, true},
		{"something else", func() error { return s.Add(metav1.Status{}) }, false},
		{"something else is gone", func() error { return s.Delete(metav1.Status{}) }, false},
	} {
		before := told
		if err := step.do(); err != nil || (told > before) != step.tells {
			t.Errorf("%s: it tells: %t, %v", step.name, told > before, err)
		}
	}
	if all, filled := s.List(); len(all) > 0 || !filled {
		t.Errorf("in the end there is %v, filled %t", all, filled)
	}
}
