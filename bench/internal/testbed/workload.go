// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	appLabel    = "app"
	budgetLabel = "bench.slipway.dev/budget"
	surgeLabel  = "slipway.dev/surge"
)

// App is a set of pods that have the same template.
type App struct {
	Namespace, Name string
	// Nodes may run the pods. With Replicas, a Deployment has that many pods, which the scheduler
	// spreads evenly. Without, there is a pod for each entry of Nodes, created as bound to it:
	// the scheduler would take minutes for tens of thousands. A ReplicaSet adopts these pods.
	Nodes    []string
	Replicas int
	// Bare: there is no ReplicaSet, and nothing replaces a pod that leaves. A pod whose node is
	// empty is never scheduled.
	Bare bool
	// Ready is the time until a pod is ready after its binding to a node, and Gone the time that it takes to
	// terminate.
	Ready, Gone time.Duration
	// Budget is the name of the PodDisruptionBudget that selects the pods. Empty: none.
	// MaxUnavailable is the budget's.
	Budget         string
	MaxUnavailable int
	// Surge: the pods request that their replacements start first.
	Surge bool
}

// pods returns how many pods the app has.
func (a App) pods() int {
	if a.Replicas > 0 {
		return a.Replicas
	}
	return len(a.Nodes)
}

func (a App) selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: a.Name}}
}

func (a App) template() corev1.PodTemplateSpec {
	labels := map[string]string{appLabel: a.Name}
	if a.Budget != "" {
		labels[budgetLabel] = a.Budget
	}
	if a.Surge {
		labels[surgeLabel] = "true"
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: a.delays()},
		Spec: corev1.PodSpec{
			// The grace period is longer than Gone, so that a pod that is late terminates, too.
			TerminationGracePeriodSeconds: new(int64(a.Gone/time.Second) + 2),
			Containers:                    []corev1.Container{{Name: "main", Image: "example.com/app:1"}},
			AutomountServiceAccountToken:  new(bool),
		},
	}
}

// delays returns the annotations that tell kwok and gone.yaml how long a pod takes.
func (a App) delays() map[string]string {
	const created = 100 * time.Millisecond
	annotations := map[string]string{
		"bench.slipway.dev/gone":                a.Gone.String(),
		"pod-delete.stage.kwok.x-k8s.io/weight": "0",
	}
	for stage, delay := range map[string]time.Duration{"pod-create": created, "pod-ready": a.Ready} {
		// There is no jitter while it is not greater than the delay.
		annotations[stage+".stage.kwok.x-k8s.io/delay"] = delay.String()
		annotations[stage+".stage.kwok.x-k8s.io/jitter-delay"] = delay.String()
	}
	return annotations
}

// boundPods returns the pods of an app without Replicas.
func (a App) boundPods() []*corev1.Pod {
	pods := make([]*corev1.Pod, len(a.Nodes))
	for i, node := range a.Nodes {
		template := a.template()
		pods[i] = &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
		pods[i].Namespace, pods[i].Name, pods[i].Spec.NodeName = a.Namespace, fmt.Sprintf("%s-%d", a.Name, i), node
		if node == "" {
			pods[i].Spec.SchedulerName = "none"
		}
	}
	return pods
}

func (a App) replicaSet() *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: a.Name},
		Spec:       appsv1.ReplicaSetSpec{Replicas: new(int32(len(a.Nodes))), Selector: a.selector(), Template: a.template()},
	}
}

func (a App) deployment() *appsv1.Deployment {
	template := a.template()
	template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: onNodes(a.Nodes)}}
	template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: a.selector(),
	}}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: a.Name},
		Spec:       appsv1.DeploymentSpec{Replicas: new(int32(a.Replicas)), Selector: a.selector(), Template: template},
	}
}

// budgets returns the PodDisruptionBudgets of apps, and how many pods each selects, by namespace and name.
func budgets(apps []App) (all []*policyv1.PodDisruptionBudget, pods map[string]int) {
	pods = map[string]int{}
	for _, app := range apps {
		key := app.Namespace + "/" + app.Budget
		if _, known := pods[key]; !known && app.Budget != "" {
			all = append(all, &policyv1.PodDisruptionBudget{
				ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Budget},
				Spec: policyv1.PodDisruptionBudgetSpec{
					Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{budgetLabel: app.Budget}},
					MaxUnavailable: new(intstr.FromInt(app.MaxUnavailable)),
				},
			})
		}
		pods[key] += app.pods()
	}
	return all, pods
}
