// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slipway-k8s/slipway/bench/drain/internal/scenario"
)

const (
	appLabel    = "app"
	budgetLabel = "bench.slipway.dev/budget"
	surgeLabel  = "slipway.dev/surge"
)

// deployment is that of an app, spread evenly over the nodes.
func deployment(app scenario.App, nodes []string) *appsv1.Deployment {
	labels := map[string]string{appLabel: app.Name}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	podLabels := map[string]string{appLabel: app.Name}
	if app.Budget != "" {
		podLabels[budgetLabel] = app.Budget
	}
	if app.Surge {
		podLabels[surgeLabel] = "true"
	}
	// Whoever is late still goes when told to: the grace period is longer.
	grace := int64(app.Gone/time.Second) + 2
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: app.Name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(app.Replicas)), Selector: selector,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: podLabels, Annotations: delays(app)},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: &grace,
					Containers:                    []corev1.Container{{Name: "main", Image: "example.com/app:1"}},
					Affinity:                      only(nodes),
					TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
						MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: selector,
					}},
				},
			},
		},
	}
}

// delays are the annotations by which kwok and delete.yaml know how long things take.
func delays(app scenario.App) map[string]string {
	const created = 100 * time.Millisecond
	annotations := map[string]string{
		"bench.slipway.dev/gone":                app.Gone.String(),
		"pod-delete.stage.kwok.x-k8s.io/weight": "0",
	}
	for stage, delay := range map[string]time.Duration{"pod-create": created, "pod-ready": app.Ready} {
		// As long as the jitter is not greater, there is none.
		annotations[stage+".stage.kwok.x-k8s.io/delay"] = delay.String()
		annotations[stage+".stage.kwok.x-k8s.io/jitter-delay"] = delay.String()
	}
	return annotations
}

// only keeps pods on the given nodes.
func only(nodes []string) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: nodes},
			},
		}}},
	}}
}

// budgets are those of the apps.
func budgets(apps []scenario.App, maxUnavailable int) []*policyv1.PodDisruptionBudget {
	var all []*policyv1.PodDisruptionBudget
	known := map[string]bool{"": true}
	for _, app := range apps {
		if known[app.Budget] {
			continue
		}
		known[app.Budget] = true
		all = append(all, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: app.Budget},
			Spec: policyv1.PodDisruptionBudgetSpec{
				Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{budgetLabel: app.Budget}},
				MaxUnavailable: new(intstr.FromInt(maxUnavailable)),
			},
		})
	}
	return all
}

// pods are how many there are under each budget.
func pods(apps []scenario.App) map[string]int {
	n := map[string]int{}
	for _, app := range apps {
		n[app.Budget] += app.Replicas
	}
	return n
}

func misplaced(node string, have, want int) error {
	return fmt.Errorf("the scheduler has put %d pods on %s; want %d", have, node, want)
}
