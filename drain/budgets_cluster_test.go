// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slipway-k8s/slipway/drain"
)

func TestABudgetThatRefusesIsWaitedForWithoutARequest(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	node := s.nodes[0]
	s.pod(node, "a")
	s.pod(node, "b")
	s.pod(node, "free", labelled("other"))
	s.budget("web", "web", 2, 2)
	s.cordon(node)

	w := s.drain(s.drainer(node), node)
	w.awaitBlocker("a", drain.BudgetImpossible, "web")
	w.awaitBlocker("b", drain.BudgetImpossible, "web")
	w.await("the pod without a budget is gone", func(st drain.Status) bool { return st.Total == 3 && st.Done == 1 })
	s.wantEvictions(map[int]int{201: 1})

	s.patchBudget("web", `{"spec":{"minAvailable":1}}`)
	w.await("one more is gone", func(st drain.Status) bool { return st.Done == 2 })
	s.patchBudget("web", `{"spec":{"minAvailable":0}}`)
	w.wantDrained(node, 3)
	s.wantEvictions(map[int]int{201: 3})
}

func TestUnreadyPodsLeaveAsTheBudgetsPolicySays(t *testing.T) {
	t.Parallel()
	s := newScene(t, 2)
	node, elsewhere := s.nodes[0], s.nodes[1]
	s.pod(node, "sick")
	s.pod(elsewhere, "well-1")
	s.pod(elsewhere, "well-2")
	s.unready("sick")
	s.budget("web", "web", 2, 2)
	s.cordon(node)

	// Enough others are healthy: the sick pod does not count, although the budget allows no disruption.
	s.drain(s.drainer(node), node).wantDrained(node, 1)

	node = s.takeNodes(t, 1)[0]
	s.pod(node, "sick-too")
	s.unready("sick-too")
	s.unready("well-2")
	s.awaitBudget("web", "short of a healthy pod", func(b *policyv1.PodDisruptionBudget) bool { return b.Status.CurrentHealthy == 1 })
	s.cordon(node)
	w := s.drain(s.drainer(node), node)
	w.awaitBlocker("sick-too", drain.BudgetExhausted, "web")
	s.patchBudget("web", `{"spec":{"unhealthyPodEvictionPolicy":"AlwaysAllow"}}`)
	w.wantDrained(node, 1)
	s.wantEvictions(map[int]int{201: 2})
}

func TestAPodWithTwoBudgetsIsReportedAndNotTried(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	node := s.nodes[0]
	s.pod(node, "a")
	s.budget("one", "web", 0, 1)
	s.budget("two", "web", 0, 1)
	s.cordon(node)

	w := s.drain(s.drainer(node), node)
	w.awaitBlocker("a", drain.MultipleBudgets, "one, two")
	s.must(s.admin.PolicyV1().PodDisruptionBudgets(s.namespace).Delete(s.ctx, "one", metav1.DeleteOptions{}))
	w.wantDrained(node, 1)
	s.wantEvictions(map[int]int{201: 1})
}

// A share of pods means nothing where nobody says how many there should be.
func TestABudgetThatCannotBeComputedIsExplained(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	node := s.nodes[0]
	s.pod(node, "unmanaged", labelled("unmanaged"))
	owner, err := s.admin.CoreV1().ConfigMaps(s.namespace).Create(s.ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "owner"},
	}, metav1.CreateOptions{})
	s.must(err)
	s.pod(node, "scaleless", labelled("scaleless"), func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
	})
	for _, app := range []string{"unmanaged", "scaleless"} {
		_, err := s.admin.PolicyV1().PodDisruptionBudgets(s.namespace).Create(s.ctx, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: "half-" + app},
			Spec: policyv1.PodDisruptionBudgetSpec{
				MaxUnavailable: new(intstr.FromString("50%")),
				Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
			},
		}, metav1.CreateOptions{})
		s.must(err)
	}
	s.cordon(node)

	w := s.drain(s.drainer(node), node)
	w.awaitBlocker("unmanaged", drain.BudgetImpossible, "half-unmanaged")
	w.awaitBlocker("scaleless", drain.BudgetSyncFailed, "half-scaleless")
	s.must(s.admin.PolicyV1().PodDisruptionBudgets(s.namespace).DeleteCollection(s.ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	w.wantDrained(node, 2)
	s.wantEvictions(map[int]int{201: 2})
}

// Two nodes hold the pods of one Deployment, and are drained at once by one Drainer.
func TestTwoNodesUnderOneBudgetDoNotGetInEachOthersWay(t *testing.T) {
	t.Parallel()
	s := newScene(t, 3)
	first, second, free := s.nodes[0], s.nodes[1], s.nodes[2]
	const replicas = 8
	s.cordon(free) // so that all pods begin on the two
	s.deployment("web", replicas, s.nodes)
	s.budget("web", "web", replicas-2, replicas)
	_, err := s.admin.CoreV1().Nodes().Patch(s.ctx, free, "application/merge-patch+json", []byte(`{"spec":{"unschedulable":false}}`), metav1.PatchOptions{})
	s.must(err)
	s.cordon(first, second)

	d := s.drainerWith(s.admin)
	a, b := s.drain(d, first), s.drain(d, second)
	s.must(errors.Join(a.end(), b.end()))
	sa, _ := a.status()
	sb, _ := b.status()
	if sa.Done+sb.Done != replicas {
		t.Errorf("%d and %d pods gone, want %d", sa.Done, sb.Done, replicas)
	}

	requests := s.evictions(t, s.namespace)
	slices.SortFunc(requests, func(a, b request) int { return a.RequestReceivedTimestamp.Compare(b.RequestReceivedTimestamp) })
	for i, next := range requests[1:] {
		if next.RequestReceivedTimestamp.Before(requests[i].StageTimestamp) {
			t.Errorf("two evictions were in flight under one budget: %s and %s", requests[i].ObjectRef.Name, next.ObjectRef.Name)
		}
	}
	// A refusal can happen: the budget's controller may change its mind while an eviction is on its way.
	refusals := len(requests) - replicas
	t.Logf("%d evictions, %d refused", len(requests), refusals)
	if refusals < 0 || refusals > 2 {
		t.Errorf("%d evictions for %d pods", len(requests), replicas)
	}
}

func (s *scene) deployment(name string, replicas int32, nodes []string) {
	s.t.Helper()
	_, err := s.admin.AppsV1().Deployments(s.namespace).Create(s.ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Template: template(name, nodes),
		},
	}, metav1.CreateOptions{})
	s.must(err)
	await(s, s.admin.AppsV1().Deployments(s.namespace), &appsv1.Deployment{}, name, fmt.Sprintf("%d ready pods", replicas), func(d *appsv1.Deployment) bool {
		return d.Status.ReadyReplicas == replicas
	})
}

// template makes pods that run on these nodes only.
func template(app string, nodes []string) corev1.PodTemplateSpec {
	pod := podSpec(labelled(app))
	pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: nodes}},
		}}},
	}}
	return corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
}
