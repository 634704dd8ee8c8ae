// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// inhabited is a node that is drained, a spare one, and a namespace whose pods they have.
type inhabited struct {
	*harness.Env
	t         *testing.T
	node      *harness.Node
	group     string
	namespace string
	// overdue is when the last of the pods that are going already has had its time.
	overdue time.Time
}

// workloads are what an inhabited node can have. Each has its app's name.
var workloads = []func(i *inhabited){
	func(i *inhabited) { i.deployment("free", 2) },
	func(i *inhabited) { i.deployment("guarded", 4); i.budget("guarded", "guarded", 1) },
	func(i *inhabited) { i.deployment("whole", 3); i.budget("whole", "whole", 0) },
	func(i *inhabited) {
		i.deployment("twice", 2)
		i.budget("twice", "twice", 1)
		i.budget("twice-too", "twice", 1)
	},
	func(i *inhabited) { i.bare("alone") },
	func(i *inhabited) {
		i.deployment("pinned", 3, func(s *corev1.PodSpec) { s.NodeSelector[corev1.LabelHostname] = i.node.Name })
		i.budget("pinned", "pinned", 1)
	},
	func(i *inhabited) { i.daemon("daemon") },
	func(i *inhabited) { i.rule("skipped", slipwayv1alpha1.DrainSkip, 0); i.deployment("skipped", 2) },
	func(i *inhabited) { i.rule("job", slipwayv1alpha1.DrainWaitCompleted, 0); i.bare("job") },
	func(i *inhabited) { i.held("held") },
	func(i *inhabited) { i.budget("uncounted", "uncounted", 1); i.uncounted("uncounted") },
	func(i *inhabited) {
		i.bare("static", func(p *corev1.Pod) { p.Annotations[corev1.MirrorPodAnnotationKey] = "x" })
	},
	func(i *inhabited) {
		i.deployment("scratch", 2, func(s *corev1.PodSpec) {
			s.Volumes = []corev1.Volume{{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		})
	},
	func(i *inhabited) { i.rule("late", slipwayv1alpha1.DrainEvict, 1); i.deployment("late", 2) },
}

func (i *inhabited) create(object client.Object) {
	i.t.Helper()
	object.SetNamespace(i.namespace)
	if err := i.Client.Create(i.t.Context(), object); err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(func() { i.DeleteQuietly(object) })
}

func (i *inhabited) template(app string) corev1.PodTemplateSpec {
	return harness.PodSpec(app, i.group, harness.PodOptions{Gone: time.Second})
}

// deployment is ready when it returns.
func (i *inhabited) deployment(app string, replicas int32, change ...func(*corev1.PodSpec)) {
	i.t.Helper()
	template := i.template(app)
	for _, f := range change {
		f(&template.Spec)
	}
	i.create(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: app},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template,
		},
	})
	harness.Await(i.t, i.Env, "deployment "+app+" is ready", &appsv1.DeploymentList{}, func(d *appsv1.Deployment) bool {
		return d.Status.ObservedGeneration == d.Generation && d.Status.ReadyReplicas == replicas
	}, harness.Named(app), client.InNamespace(i.namespace))
}

func (i *inhabited) daemon(app string) {
	i.t.Helper()
	template := i.template(app)
	i.create(&appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: app},
		Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template},
	})
	harness.Await(i.t, i.Env, "daemon set "+app+" is ready", &appsv1.DaemonSetList{}, func(d *appsv1.DaemonSet) bool {
		return d.Status.ObservedGeneration == d.Generation && d.Status.NumberReady == 2
	}, harness.Named(app), client.InNamespace(i.namespace))
}

// bare is a ready pod on the node, without a controller.
func (i *inhabited) bare(app string, change ...func(*corev1.Pod)) *corev1.Pod {
	i.t.Helper()
	template := i.template(app)
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Name, pod.Spec.NodeSelector, pod.Spec.NodeName = app, nil, i.node.Name
	for _, f := range change {
		f(pod)
	}
	i.create(pod)
	i.node.AwaitReady(pod)
	return pod
}

// held is a pod that is going and that a finalizer keeps.
func (i *inhabited) held(app string) {
	i.t.Helper()
	pod := i.bare(app, func(p *corev1.Pod) { p.Finalizers = []string{"slipway.test/held"} })
	i.t.Cleanup(func() { i.release(pod) })
	if err := i.Client.Delete(i.t.Context(), pod); err != nil {
		i.t.Fatal(err)
	}
	const overdueAfter = 10 * time.Second
	i.overdue = time.Now().Add(time.Second + overdueAfter + time.Second)
}

func (i *inhabited) release(pod *corev1.Pod) {
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	if err := i.Client.Patch(context.WithoutCancel(i.t.Context()), pod, patch); client.IgnoreNotFound(err) != nil {
		i.t.Error(err)
	}
}

// budget lets so many pods be away.
func (i *inhabited) budget(name, app string, away int) {
	i.t.Helper()
	i.create(&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, MaxUnavailable: new(intstr.FromInt(away)),
		},
	})
}

// uncounted is a pod whose controller has no scale, by which its budget goes.
func (i *inhabited) uncounted(app string) {
	i.t.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: app}}
	i.create(owner)
	i.bare(app, func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: app, UID: owner.UID, Controller: new(true)}}
	})
	harness.Await(i.t, i.Env, "budget "+app+" cannot be computed", &policyv1.PodDisruptionBudgetList{}, func(b *policyv1.PodDisruptionBudget) bool {
		for _, c := range b.Status.Conditions {
			if c.Reason == policyv1.SyncFailedReason {
				return true
			}
		}
		return false
	}, harness.Named(app), client.InNamespace(i.namespace))
}

func (i *inhabited) rule(app string, behavior slipwayv1alpha1.DrainBehavior, order int32) {
	i.t.Helper()
	i.Rule(i.t, i.namespace, app, harness.ForApp(app), harness.Behaves(behavior), func(s *slipwayv1alpha1.DrainRuleSpec) { s.Order = order })
}

// settled waits until all budgets count their pods.
func (i *inhabited) settled() {
	i.t.Helper()
	var all policyv1.PodDisruptionBudgetList
	if err := i.Client.List(i.t.Context(), &all, client.InNamespace(i.namespace)); err != nil {
		i.t.Fatal(err)
	}
	for _, b := range all.Items {
		if b.Name == "uncounted" {
			continue
		}
		harness.Await(i.t, i.Env, "budget "+b.Name+" counts its pods", &policyv1.PodDisruptionBudgetList{}, func(b *policyv1.PodDisruptionBudget) bool {
			return b.Status.ObservedGeneration == b.Generation && b.Status.ExpectedPods > 0 && b.Status.CurrentHealthy == b.Status.ExpectedPods
		}, harness.Named(b.Name), client.InNamespace(i.namespace))
	}
	if !i.overdue.IsZero() {
		harness.AwaitTime(i.t, i.overdue)
	}
}
