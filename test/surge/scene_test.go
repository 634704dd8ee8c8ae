// SPDX-License-Identifier: Apache-2.0

package surge

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/retry"

	surgeroom "github.com/slipway-k8s/slipway/internal/eviction/surge"
	"github.com/slipway-k8s/slipway/test/harness"
)

const (
	app = "web"
	// never is longer than any test.
	never = 24 * time.Hour
	// readyDelay and readyJitter are kwok's annotations for the time until a pod is Ready.
	readyDelay, readyJitter = "pod-ready.stage.kwok.x-k8s.io/delay", "pod-ready.stage.kwok.x-k8s.io/jitter-delay"
)

// scene is a namespace, with nodes of its own for its pods.
type scene struct {
	*ground
	t         *testing.T
	namespace string
	pods      *record
}

func (g *ground) scene(t *testing.T) *scene {
	t.Helper()
	s := &scene{ground: g, t: t, namespace: g.env.Namespace(t, map[string]string{surgeroom.Responder: "true"}).Name}
	s.showOnFailure()
	s.pods = s.record()
	return s
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// node creates a node for the pods of the scene.
func (s *scene) node(name string) string {
	s.t.Helper()
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"), corev1.ResourcePods: resource.MustParse("500"),
	}
	name = s.namespace + "-" + name
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{harness.GroupLabel: s.namespace}, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
	_, err := s.clients.CoreV1().Nodes().Create(s.t.Context(), node, metav1.CreateOptions{})
	s.must(err)
	s.t.Cleanup(func() { _ = s.clients.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}) })
	return name
}

// cordon is what a drain begins with.
func (s *scene) cordon(node string) {
	s.t.Helper()
	_, err := s.clients.CoreV1().Nodes().Patch(s.t.Context(), node, types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{})
	s.must(err)
}

// deploy creates a Deployment whose pods take the given time to become Ready, and a budget
// that wants so many of them.
func (s *scene) deploy(replicas int32, ready time.Duration, minAvailable int, edits ...func(*appsv1.Deployment)) *appsv1.Deployment {
	s.t.Helper()
	labels := map[string]string{"app": app}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: app}}
	d.Spec.Replicas, d.Spec.Selector = &replicas, &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template = harness.PodSpec(app, s.namespace, harness.PodOptions{Ready: ready, Gone: time.Second})
	for _, edit := range edits {
		edit(d)
	}
	created, err := s.clients.AppsV1().Deployments(s.namespace).Create(s.t.Context(), d, metav1.CreateOptions{})
	s.must(err)
	s.budget(metav1.LabelSelector{MatchLabels: labels}, func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = new(intstr.FromInt(minAvailable)) })
	s.pods.await("the pods have begun", func(all pods) bool { return len(all.where(begun)) == int(replicas) })
	if ready == never {
		for _, pod := range s.pods.now() {
			s.makeReady(pod.Name)
		}
	}
	s.pods.await("the pods are Ready", func(all pods) bool { return len(all.where(isReady)) == int(replicas) })
	s.pods.begin()
	return created
}

func (s *scene) budget(selector metav1.LabelSelector, edit func(*policyv1.PodDisruptionBudget)) {
	s.t.Helper()
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{GenerateName: app + "-"}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &selector}}
	edit(b)
	_, err := s.clients.PolicyV1().PodDisruptionBudgets(s.namespace).Create(s.t.Context(), b, metav1.CreateOptions{})
	s.must(err)
}

// makeReady has kwok report the pod Ready at once. The test does not write the status itself: kwok may still write the
// status of a pod that has begun, and would overwrite it.
func (s *scene) makeReady(name string) {
	s.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"1ms",%q:"1ms"}}}`, readyDelay, readyJitter)
	_, err := s.clients.CoreV1().Pods(s.namespace).Patch(s.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	s.must(err)
}

// ask asks for the eviction of a pod.
func (s *scene) ask(pod *corev1.Pod) {
	s.t.Helper()
	r := &evictionv1alpha1.EvictionRequest{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}}
	r.Spec.Target.Pod = &evictionv1alpha1.EvictionRequestPodReference{Name: pod.Name, UID: pod.UID}
	r.Spec.Requester, r.Spec.Intent = "example.com/test", evictionv1alpha1.EvictionRequestIntentEviction
	_, err := s.clients.LifecycleV1alpha1().EvictionRequests(s.namespace).Create(s.t.Context(), r, metav1.CreateOptions{})
	s.must(err)
}

// withdraw takes that back.
func (s *scene) withdraw(pod *corev1.Pod) {
	s.t.Helper()
	requests := s.clients.LifecycleV1alpha1().EvictionRequests(s.namespace)
	s.must(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		r, err := requests.Get(s.t.Context(), pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		r.Spec.Intent = evictionv1alpha1.EvictionRequestIntentWithdrawn
		_, err = requests.Update(s.t.Context(), r, metav1.UpdateOptions{})
		return err
	}))
}

// change changes the Deployment.
func (s *scene) change(edit func(*appsv1.Deployment)) {
	s.t.Helper()
	deployments := s.clients.AppsV1().Deployments(s.namespace)
	s.must(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		d, err := deployments.Get(s.t.Context(), app, metav1.GetOptions{})
		if err != nil {
			return err
		}
		edit(d)
		_, err = deployments.Update(s.t.Context(), d, metav1.UpdateOptions{})
		return err
	}))
}

// untouched checks that a Deployment's spec and history are as they were.
func (s *scene) untouched(before *appsv1.Deployment) {
	s.t.Helper()
	now, err := s.clients.AppsV1().Deployments(s.namespace).Get(s.t.Context(), app, metav1.GetOptions{})
	s.must(err)
	if now.Generation != before.Generation {
		s.t.Errorf("the spec of the Deployment was written: generation %d, was %d", now.Generation, before.Generation)
	}
	sets, err := s.clients.AppsV1().ReplicaSets(s.namespace).List(s.t.Context(), metav1.ListOptions{})
	s.must(err)
	if len(sets.Items) != 1 {
		s.t.Errorf("there are %d ReplicaSets", len(sets.Items))
	}
}
