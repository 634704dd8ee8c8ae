// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// disturb changes one thing.
func (u *turmoil) disturb() {
	u.t.Helper()
	kinds := []struct {
		name   string
		change func(app string) error
	}{
		{"scale", u.scale},
		{"edit", u.edit},
		{"edit", u.edit},
		{"delete", u.deletePod},
		{"unready", func(app string) error { return u.setReady(app, "False") }},
		{"unready", func(app string) error { return u.setReady(app, "False") }},
		{"ready", func(app string) error { return u.setReady(app, "True") }},
		{"evict", u.evictPod},
		{"restart", u.restart},
	}
	kind, app := kinds[u.random.IntN(len(kinds))], u.apps[u.random.IntN(len(u.apps))]
	u.done = append(u.done, kind.name+" "+app)
	if err := kind.change(app); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		u.t.Fatalf("%s %s: %v", kind.name, app, err)
	}
}

func (u *turmoil) edit(app string) error {
	u.patchBudget(app, u.limits())
	return nil
}

func (u *turmoil) scale(app string) error {
	_, err := u.admin.AppsV1().Deployments(u.namespace).Patch(u.ctx, app, types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, 5+u.random.IntN(8)), metav1.PatchOptions{})
	return err
}

func (u *turmoil) deletePod(app string) error {
	return u.withPod(app, nil, func(pod corev1.Pod) error {
		return u.admin.CoreV1().Pods(u.namespace).Delete(u.ctx, pod.Name, metav1.DeleteOptions{})
	})
}

func (u *turmoil) setReady(app, status string) error {
	return u.withPod(app, nil, func(pod corev1.Pod) error {
		patch := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":%q}]}}`, status)
		_, err := u.admin.CoreV1().Pods(u.namespace).Patch(u.ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	})
}

// evictPod evicts as somebody else, who asks once and does not wait for a budget.
func (u *turmoil) evictPod(app string) error {
	onDraining := func(pod corev1.Pod) bool { return slices.Contains(u.draining, pod.Spec.NodeName) }
	return u.withPod(app, onDraining, func(pod corev1.Pod) error {
		err := u.admin.CoreV1().RESTClient().Post().Namespace(u.namespace).Resource("pods").Name(pod.Name).SubResource("eviction").
			MaxRetries(0).Body(&policyv1.Eviction{
			ObjectMeta:    metav1.ObjectMeta{Name: pod.Name},
			DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))},
		}).Do(u.ctx).Error()
		if apierrors.IsTooManyRequests(err) {
			return nil
		}
		return err
	})
}

// restartDrain ends the drain of a node and begins it anew. What it knew is lost.
func (u *turmoil) restartDrain(string) error {
	i := u.random.IntN(len(u.draining))
	node := u.draining[i]
	u.walks[node].cancel(errors.New("restarted"))
	_ = u.walks[node].end()
	if i == 2 {
		u.drainers[node] = u.drainer(node)
	}
	u.walks[node] = u.drain(u.drainers[node], node)
	return nil
}

// withPod does something with one of the app's pods.
func (u *turmoil) withPod(app string, suits func(corev1.Pod) bool, do func(corev1.Pod) error) error {
	list, err := u.admin.CoreV1().Pods(u.namespace).List(u.ctx, metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		return err
	}
	pods := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		return pod.DeletionTimestamp != nil || pod.Spec.NodeName == "" || suits != nil && !suits(pod)
	})
	if len(pods) == 0 {
		return nil
	}
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return do(pods[u.random.IntN(len(pods))])
}
