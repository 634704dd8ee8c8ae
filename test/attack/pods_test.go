// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var onPods = map[string]attempt{
	"list the pods of another node":       {nodeA, listPodsOf(ofB), byNodeAuthorizer, nodeB},
	"list all pods":                       {nodeA, listPodsOf(""), byNodeAuthorizer, root},
	"list all pods as oneself":            {agentA, listPodsOf(""), byRBAC, root},
	"read a pod of another node":          {nodeA, readPodOf(ofB), byNodeAuthorizer, nodeB},
	"evict a pod of another node":         {nodeA, evictPodOf(ofB), byNodeRestriction, nodeB},
	"evict a pod of its node as oneself":  {agentA, evictPodOf(ofA), byRBAC, nodeA},
	"delete a pod of another node":        {nodeA, deletePodOf(ofB), byNodeRestriction, nodeB},
	"delete a pod of its node as oneself": {agentA, deletePodOf(ofA), byRBAC, nodeA},
	"patch a pod of another node":         {nodeA, labelPodOf(ofB), byImpersonation, root},
	"patch a pod of another as oneself":   {agentA, labelPodOf(ofB), byRBAC, root},
	"run a pod on another node":           {nodeA, runPodOn(ofB, metav1.NamespaceDefault, "default"), byImpersonation, root},
	"run a pod with the agent's account":  {agentA, runPodOn(ofB, "slipway-system", "slipway-node-agent"), byRBAC, root},
	"delete a budget, to evict its pods":  {agentA, deleteBudgets, byRBAC, root},
	"weaken a budget by acting as a node": {nodeA, deleteBudgets, byImpersonation, root},
}

var (
	dryCreate = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	dryPatch  = metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
	dryDelete = metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
)

// listPodsOf lists the pods of a node; of none: of all.
func listPodsOf(of string) try {
	return func(ctx context.Context, s *scene, h hand) error {
		options := metav1.ListOptions{}
		if of != "" {
			options.FieldSelector = "spec.nodeName=" + s.nodes[of].Name
		}
		_, err := h.kube.CoreV1().Pods(metav1.NamespaceAll).List(ctx, options)
		return err
	}
}

func readPodOf(of string) try {
	return func(ctx context.Context, s *scene, h hand) error {
		_, err := h.kube.CoreV1().Pods(s.pods[of].Namespace).Get(ctx, s.pods[of].Name, metav1.GetOptions{})
		return err
	}
}

func evictPodOf(of string) try {
	return func(ctx context.Context, s *scene, h hand) error {
		pod := s.pods[of]
		return h.kube.CoreV1().Pods(pod.Namespace).EvictV1(ctx, &policyv1.Eviction{
			ObjectMeta:    metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace},
			DeleteOptions: &dryDelete,
		})
	}
}

func deletePodOf(of string) try {
	return func(ctx context.Context, s *scene, h hand) error {
		return h.kube.CoreV1().Pods(s.pods[of].Namespace).Delete(ctx, s.pods[of].Name, dryDelete)
	}
}

func labelPodOf(of string) try {
	return func(ctx context.Context, s *scene, h hand) error {
		pod := s.pods[of]
		_, err := h.kube.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"app":"mine"}}}`), dryPatch)
		return err
	}
}

func runPodOn(of, namespace, account string) try {
	return func(ctx context.Context, s *scene, h hand) error {
		_, err := h.kube.CoreV1().Pods(namespace).Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "attack-"},
			Spec: corev1.PodSpec{
				NodeName: s.nodes[of].Name, ServiceAccountName: account,
				Containers: []corev1.Container{{Name: "main", Image: "example.com/attack:1"}},
			},
		}, dryCreate)
		return err
	}
}

func deleteBudgets(ctx context.Context, _ *scene, h hand) error {
	return h.kube.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault).DeleteCollection(ctx, dryDelete, metav1.ListOptions{})
}
