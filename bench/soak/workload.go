// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	appLabel = "app"
	// groups of nodes: those of one have the same apps.
	groups = 10
	// unavailable is how many pods of an app may be missing at a time, if it has a
	// budget: with all nodes of the last step in work, fewer than are told to leave. Of an app with few
	// pods, it is half of them.
	unavailable = 4
	// gone is how many seconds a pod takes to end at most, which is its grace period as well:
	// a simulated pod takes all of that at times, whatever else it is told.
	gone = 3
)

// app is one workload: a pod on each node of a group. The pods of a node are in as many
// namespaces, and every other app has a budget.
type app struct {
	namespace, name string
	budget          bool
	nodes           []string
}

// apps puts so many pods on each node, each of another app.
func apps(nodes []string, podsPerNode int) []app {
	var all []app
	for slot := range podsPerNode {
		for group := range groups {
			a := app{namespace: fmt.Sprintf("team-%d", slot), name: fmt.Sprintf("app-%d", group), budget: (slot+group)%2 == 0}
			for i := group; i < len(nodes); i += groups {
				a.nodes = append(a.nodes, nodes[i])
			}
			all = append(all, a)
		}
	}
	return all
}

// mayMiss is how many of its pods may be missing at a time, if it has a budget.
func (a app) mayMiss() int { return min(unavailable, max(1, len(a.nodes)/2)) }

// pod is one of the app, bound to its node: a scheduler would take minutes for all of
// them. It goes some seconds after it was told to.
func (a app) pod(node string) *corev1.Pod {
	template := a.template()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Name, pod.Spec.NodeName = a.name+"-"+node, node
	return pod
}

func (a app) template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{appLabel: a.name},
			Annotations: map[string]string{
				"pod-delete.stage.kwok.x-k8s.io/delay": "1s", "pod-delete.stage.kwok.x-k8s.io/jitter-delay": fmt.Sprintf("%ds", gone),
			},
		},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(gone)),
			Containers:                    []corev1.Container{{Name: "main", Image: "example.com/app:1"}},
		},
	}
}

// replicaSet takes the app's pods over, and replaces those that leave.
func (a app) replicaSet() *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: a.name},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(len(a.nodes))), Selector: a.selector(), Template: a.template(),
		},
	}
}

func (a app) disruptionBudget() *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: a.name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: a.selector(), MaxUnavailable: new(intstr.FromInt(a.mayMiss()))},
	}
}

func (a app) selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: a.name}}
}
