// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"

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
	// restart ends what evicts, and begins it anew, as when its process has ended.
	restart func(app string) error

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
