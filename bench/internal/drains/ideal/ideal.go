// SPDX-License-Identifier: Apache-2.0

package ideal

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// Drain cordons the nodes, evicts all pods of the namespace that are on them, and returns when these pods have left.
func Drain(ctx context.Context, clients kubernetes.Interface, namespace string, nodes []string) error {
	for _, node := range nodes {
		cordon := []byte(`{"spec":{"unschedulable":true}}`)
		if _, err := clients.CoreV1().Nodes().Patch(ctx, node, types.StrategicMergePatchType, cordon, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("cordon %s: %w", node, err)
		}
	}
	watching, stop := context.WithCancel(ctx)
	v := watch(watching, clients, namespace, nodes)
	defer v.running.Wait()
	defer stop()
	if !v.synced(ctx) {
		return context.Cause(ctx)
	}
	d := &drain{clients: clients, view: v, evicted: map[types.UID]bool{}, used: map[types.UID]usage{}}
	return d.run(ctx)
}

// drain records the evictions so far.
type drain struct {
	clients kubernetes.Interface
	view    *view
	evicted map[types.UID]bool
	used    map[types.UID]usage // by budget
}

// usage is the last eviction under a budget. The budget's status is out of date until the
// watch shows the effect of this eviction.
type usage struct {
	pod      string
	version  string // of the budget, when the eviction was sent
	accepted bool
}

func (d *drain) run(ctx context.Context) error {
	for {
		pods := d.view.pods()
		if len(pods) == 0 {
			return nil
		}
		pod, budget := d.next(pods, d.view.budgets())
		if pod == nil {
			select {
			case <-d.view.changed:
				continue
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if err := d.evict(ctx, pod, budget); err != nil {
			return err
		}
	}
}

// next returns the first pod, by name, whose budget allows an eviction, and that budget.
func (d *drain) next(pods []*corev1.Pod, budgets []*policyv1.PodDisruptionBudget) (*corev1.Pod, *policyv1.PodDisruptionBudget) {
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	for _, pod := range pods {
		if d.evicted[pod.UID] || pod.DeletionTimestamp != nil {
			continue
		}
		budget := guard(pod, budgets)
		if budget == nil || d.allows(budget) {
			return pod, budget
		}
	}
	return nil, nil
}

func (d *drain) allows(b *policyv1.PodDisruptionBudget) bool {
	last, ok := d.used[b.UID]
	switch {
	case ok && last.accepted && !d.view.counted(last.pod):
		return false
	case ok && !last.accepted && last.version == b.ResourceVersion:
		return false
	}
	return b.Status.DisruptionsAllowed > 0 && b.Status.ObservedGeneration >= b.Generation
}

func (d *drain) evict(ctx context.Context, pod *corev1.Pod, budget *policyv1.PodDisruptionBudget) error {
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	err := d.clients.CoreV1().RESTClient().Post().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).
		SubResource("eviction").MaxRetries(0).Body(eviction).Do(ctx).Error()
	if err != nil && !apierrors.IsTooManyRequests(err) {
		return fmt.Errorf("evict %s: %w", pod.Name, err)
	}
	d.evicted[pod.UID] = err == nil
	if budget != nil {
		d.used[budget.UID] = usage{pod: pod.Name, version: budget.ResourceVersion, accepted: err == nil}
	}
	return nil
}
