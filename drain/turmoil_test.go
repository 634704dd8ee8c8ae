// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/slipway-k8s/slipway/drain"
)

// turmoil is a scene in which everything that a drain depends on changes at random.
type turmoil struct {
	*scene
	random   *rand.Rand
	apps     []string
	draining []string
	drainers map[string]*drain.Drainer // by node
	walks    map[string]*walk
	began    time.Time

	pods, budgets watch.Interface
	done          []string
}

// populate starts so many pods of each app, all on the nodes that will be drained, and a budget for each app.
func (u *turmoil) populate(replicas int32) {
	u.t.Helper()
	free := slices.DeleteFunc(slices.Clone(u.nodes), func(node string) bool { return slices.Contains(u.draining, node) })
	u.cordon(free...)
	for _, app := range u.apps {
		u.deployment(app, replicas, u.nodes)
		_, err := u.admin.PolicyV1().PodDisruptionBudgets(u.namespace).Create(u.ctx, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: app},
			Spec: policyv1.PodDisruptionBudgetSpec{
				MaxUnavailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
			},
		}, metav1.CreateOptions{})
		u.must(err)
		u.patchBudget(app, u.limits())
	}
	for _, node := range free {
		_, err := u.admin.CoreV1().Nodes().Patch(u.ctx, node, types.MergePatchType, []byte(`{"spec":{"unschedulable":false}}`), metav1.PatchOptions{})
		u.must(err)
	}
	var err error
	u.pods, err = u.admin.CoreV1().Pods(u.namespace).Watch(u.ctx, metav1.ListOptions{})
	u.must(err)
	u.t.Cleanup(u.pods.Stop)
	u.budgets, err = u.admin.PolicyV1().PodDisruptionBudgets(u.namespace).Watch(u.ctx, metav1.ListOptions{})
	u.must(err)
	u.t.Cleanup(u.budgets.Stop)
}

// pass waits until so much has happened, or until nothing happens any more: the budgets may refuse everything.
func (u *turmoil) pass(events int) {
	quiet := time.NewTimer(500 * time.Millisecond)
	defer quiet.Stop()
	for range events {
		select {
		case <-u.pods.ResultChan():
		case <-u.budgets.ResultChan():
		case <-quiet.C:
			return
		}
	}
}

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

// limits is a change of a budget to one of another kind.
func (u *turmoil) limits() string {
	field := []string{"minAvailable", "maxUnavailable"}[u.random.IntN(2)]
	limit := map[string][]any{
		"minAvailable":   {1, 4, 6, 8, "50%", "80%", "100%"},
		"maxUnavailable": {0, 1, 1, 2, "10%", "25%", "50%"},
	}[field]
	spec := map[string]any{
		"minAvailable": nil, "maxUnavailable": nil,
		"unhealthyPodEvictionPolicy": []any{nil, policyv1.IfHealthyBudget, policyv1.AlwaysAllow}[u.random.IntN(3)],
	}
	spec[field] = limit[u.random.IntN(len(limit))]
	patch, err := json.Marshal(map[string]any{"spec": spec})
	u.must(err)
	return string(patch)
}

// relax lets everything go.
func (u *turmoil) relax() {
	u.t.Helper()
	for _, app := range u.apps {
		u.patchBudget(app, `{"spec":{"minAvailable":null,"maxUnavailable":"100%","unhealthyPodEvictionPolicy":"AlwaysAllow"}}`)
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
			DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(pod.UID)}},
		}).Do(u.ctx).Error()
		if apierrors.IsTooManyRequests(err) {
			return nil
		}
		return err
	})
}

// restart ends the drain of a node and begins it anew, as when its process has ended. What it knew is lost.
func (u *turmoil) restart(string) error {
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
