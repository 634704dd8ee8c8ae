// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/fields"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	policyv1client "k8s.io/client-go/kubernetes/typed/policy/v1"

	"github.com/slipway-k8s/slipway/drain/watchstore"
)

// newStore returns a store whose changes wake a loop.
func newStore[T any](convert func(any) (T, bool), wake watchstore.Signal) *watchstore.Store[T] {
	return watchstore.New(watchstore.Options[T]{Convert: convert, Changed: func(watchstore.Change[T]) { wake.Poke() }})
}

func nodeSource(client corev1client.CoreV1Interface, name string) watchstore.Source {
	s := watchstore.From("drain", &corev1.Node{}, client.Nodes().List, client.Nodes().Watch)
	s.Fields, s.NoStreaming = named(name), !isReal(client.RESTClient())
	return s
}

func podSource(client corev1client.CoreV1Interface, namespace, selector string) watchstore.Source {
	pods := client.Pods(namespace)
	s := watchstore.From("drain", &corev1.Pod{}, pods.List, pods.Watch)
	s.Fields, s.NoStreaming = selector, !isReal(client.RESTClient())
	return s
}

func budgetSource(client policyv1client.PolicyV1Interface, namespace string) watchstore.Source {
	budgets := client.PodDisruptionBudgets(namespace)
	s := watchstore.From("drain", &policyv1.PodDisruptionBudget{}, budgets.List, budgets.Watch)
	s.NoStreaming = !isReal(client.RESTClient())
	return s
}

func onNode(name string) string { return fields.OneTermEqualSelector("spec.nodeName", name).String() }

func named(name string) string { return fields.OneTermEqualSelector("metadata.name", name).String() }

func toNode(obj any) (*corev1.Node, bool) {
	node, ok := obj.(*corev1.Node)
	if ok {
		node.ManagedFields = nil
		node.Status.Images = nil // often the largest part of a node
	}
	return node, ok
}

func toPod(obj any) (*corev1.Pod, bool) {
	pod, ok := obj.(*corev1.Pod)
	if ok {
		pod.ManagedFields = nil
	}
	return pod, ok
}

func toBudget(obj any) (*budget, bool) {
	pdb, ok := obj.(*policyv1.PodDisruptionBudget)
	if !ok {
		return nil, false
	}
	pdb.ManagedFields = nil
	return newBudget(pdb), true
}

// toSlimPod keeps only the fields that EvictPod decides on: its store has all pods of the namespace.
func toSlimPod(obj any) (*corev1.Pod, bool) {
	pod, ok := toPod(obj)
	if ok {
		pod.Spec = corev1.PodSpec{NodeName: pod.Spec.NodeName, TerminationGracePeriodSeconds: pod.Spec.TerminationGracePeriodSeconds}
		pod.Status = corev1.PodStatus{Phase: pod.Status.Phase, Conditions: slices.DeleteFunc(slices.Clone(pod.Status.Conditions),
			func(c corev1.PodCondition) bool { return c.Type != corev1.PodReady })}
		maps.DeleteFunc(pod.Annotations, func(key, _ string) bool { return key != corev1.MirrorPodAnnotationKey })
	}
	return pod, ok
}
