// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// HeldPod is a bare pod that no eviction gets past: its budget wants it to stay.
type HeldPod struct {
	*corev1.Pod
	env    *Env
	budget *policyv1.PodDisruptionBudget
}

// HeldPod creates a pod on the node that goes within a second once it is evicted, and
// the budget that holds it; and waits until the budget counts it.
func (n *Node) HeldPod(app string) *HeldPod {
	n.t.Helper()
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: metav1.NamespaceDefault},
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
			MinAvailable: new(intstr.FromInt32(1)),
		},
	}
	if err := n.env.Client.Create(n.t.Context(), budget); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { n.env.deleteQuietly(budget) })
	pod := n.Pod(app, PodOptions{Gone: time.Second})
	Await(n.t, n.env, "budget "+app+" counts its pod", &policyv1.PodDisruptionBudgetList{},
		func(b *policyv1.PodDisruptionBudget) bool { return b.Status.CurrentHealthy == 1 }, Named(app))
	return &HeldPod{Pod: pod, env: n.env, budget: budget}
}

// LetGo deletes the budget.
func (p *HeldPod) LetGo(t *testing.T) {
	t.Helper()
	p.env.Delete(t, p.budget)
}

// AwaitHeld waits until the event says that the pod holds it up.
func (p *HeldPod) AwaitHeld(t *testing.T, event string) *lifecyclev1alpha1.LifecycleEvent {
	t.Helper()
	return p.env.AwaitEvent(t, event, "is held up by pod "+p.Name, func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		for _, blocker := range e.Status.Blockers {
			if blocker.Object == "Pod "+p.Namespace+"/"+p.Name {
				return true
			}
		}
		return false
	})
}
