// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// unconnected has clients of no server, which are asked for nothing.
func unconnected(tb testing.TB) *Drainer {
	tb.Helper()
	client, err := kubernetes.NewForConfig(&rest.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	d, err := New(Config{Pods: client.CoreV1(), Budgets: client.PolicyV1()})
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// While one of the watches has failed that say whether a pod is refused, nobody can know.
func TestWhichWatchesAreToBeHeard(t *testing.T) {
	d := unconnected(t)
	r := newRun(d, Request{NodeName: "w1"})
	r.budgets["default"] = &guarding{budgetWatch: newBudgetWatch(d.queue)}
	r.rules["default"] = &ruleWatch{}
	if err := r.pods.Add(newPod("a")); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		tell func(error)
		want bool
	}{
		"node":    {func(err error) { r.node.Heard(t.Context(), err) }, true},
		"pods":    {func(err error) { r.pods.Heard(t.Context(), err) }, true},
		"budgets": {func(err error) { r.budgets["default"].Heard(t.Context(), err) }, true},
		"rules":   {func(err error) { r.rules["default"].take(nil, err) }, false},
	} {
		tc.tell(errors.New("away"))
		if got := r.gather(t.Context()).unheard["default"]; got != tc.want {
			t.Errorf("%s: it cannot be known while the watch has failed: %t", name, got)
		}
		tc.tell(nil)
		if r.gather(t.Context()).unheard["default"] {
			t.Errorf("%s: it cannot be known although the watch is back", name)
		}
	}
}

func TestWhatIsNotNeededIsNotKept(t *testing.T) {
	node, _ := toNode(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{}}},
		Status:     corev1.NodeStatus{Images: []corev1.ContainerImage{{}}},
	})
	pod, _ := toPod(newPod("a", func(p *corev1.Pod) { p.ManagedFields = []metav1.ManagedFieldsEntry{{}} }))
	if node.ManagedFields != nil || node.Status.Images != nil || pod.ManagedFields != nil {
		t.Error("kept")
	}
}
