// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/internal/kubectl/plan"
	"github.com/slipway-k8s/slipway/nodelease"
)

// library answers lists of a cluster with two nodes, in pages of one Pod, but for the kinds
// that it refuses.
type library struct {
	refused func(kind any) bool
	lists   int
}

func (l *library) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if l.refused(into) {
		return forbidden
	}
	if key.Name == "gone" {
		return apierrors.NewNotFound(corev1.Resource("things"), key.Name)
	}
	into.SetName(key.Name)
	if binding, ok := into.(*rbacv1.ClusterRoleBinding); ok && key.Name == "slipway-controller" {
		binding.Subjects = []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "slipway", Name: "slipway-controller"}}
	}
	return nil
}

func (l *library) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	var asked client.ListOptions
	asked.ApplyOptions(options)
	l.lists++
	if l.refused(into) && asked.FieldSelector == nil {
		return forbidden
	}
	switch list := into.(type) {
	case *corev1.NodeList:
		leased := map[string]string{nodelease.Annotation: `{"holder":"fwup","purpose":"firmware"}`}
		list.Items = []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}}, {ObjectMeta: metav1.ObjectMeta{Name: "worker-2", Annotations: leased}}}
	case *corev1.PodList:
		if asked.Continue == "" {
			list.Items, list.Continue = []corev1.Pod{podOn("worker-1", "shop", "data", labelName, product, labelComponent, controller)}, "more"
		} else {
			list.Items = []corev1.Pod{podOn("worker-1", "slipway", "gone")}
		}
	case *corev1.NamespaceList:
		list.Items = []corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"team": "a"}}}}
	case *slipwayv1alpha1.NodeHoldList:
		list.Items = []slipwayv1alpha1.NodeHold{
			{Spec: slipwayv1alpha1.NodeHoldSpec{NodeName: "worker-1", User: "alice", Purpose: "disk"}},
			{Spec: slipwayv1alpha1.NodeHoldSpec{NodeName: "worker-2", User: "bob", Maintenance: "night"}},
		}
	case *slipwayv1alpha1.DrainRuleList:
		rule := slipwayv1alpha1.DrainRule{ObjectMeta: metav1.ObjectMeta{Namespace: "slipway", Name: "all"}}
		rule.Spec.Behavior = slipwayv1alpha1.DrainSkip
		rule.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
		list.Items = []slipwayv1alpha1.DrainRule{rule}
	case *policyv1.PodDisruptionBudgetList:
		for _, namespace := range []string{"shop", "slipway"} {
			list.Items = append(list.Items, policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}})
		}
	case *corev1.PersistentVolumeClaimList:
		list.Items = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data"}}}
	case *corev1.PersistentVolumeList:
		list.Items = []corev1.PersistentVolume{{ObjectMeta: metav1.ObjectMeta{Name: "pv-data"}}}
	}
	return nil
}

func podOn(node, namespace, claim string, labels ...string) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p", Labels: map[string]string{}}}
	pod.Spec.NodeName = node
	pod.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}}}
	for i := 0; i+1 < len(labels); i += 2 {
		pod.Labels[labels[i]] = labels[i+1]
	}
	return pod
}

func TestAPlanIsMadeFromAllThatADrainLooksAt(t *testing.T) {
	l := &library{refused: func(any) bool { return false }}
	f := surveyed(t, l, "worker-1")
	if len(f.Unread) > 0 || len(f.Nodes) != 2 || len(f.Pods) != 2 || f.Drains.OwnNamespace != "slipway" {
		t.Errorf("%d nodes, %d pods of two pages, Slipway's own namespace %q, unread %q", len(f.Nodes), len(f.Pods), f.Drains.OwnNamespace, f.Unread)
	}
	n := f.Drains.Nodes[0]
	if n.Node.Name != "worker-1" || len(n.Pods) != 2 || n.Request.PodTimeout != time.Minute {
		t.Errorf("%s with %d pods and %+v", n.Node.Name, len(n.Pods), n.Request)
	}
	if rules := f.Drains.Rules; len(rules["shop"]) != 1 || len(rules["slipway"]) != 0 || rules["shop"][0].Behavior != drain.Skip {
		t.Errorf("rules %+v; want that of the cluster for its namespace alone", rules)
	}
	if b := f.Drains.Budgets; len(b["shop"]) != 1 || len(b["slipway"]) != 1 {
		t.Errorf("budgets %v", b)
	}
	if f.Volumes["pv-data"] == nil || len(f.Claims) != 1 {
		t.Errorf("claims %v, volumes %v; want those that are there", f.Claims, f.Volumes)
	}
}

func TestWhatAPlanMayNotReadMakesItUnsure(t *testing.T) {
	for name, tc := range map[string]struct {
		refused func(any) bool
		want    []string
	}{
		"nodes": {func(kind any) bool { _, is := kind.(*corev1.NodeList); return is }, []string{"the nodes of the cluster cannot be read, so the plan has no nodes for replacements"}},
		"pods":  {func(kind any) bool { _, is := kind.(*corev1.PodList); return is }, []string{"the pods of the cluster cannot be read, so the plan has no nodes"}},
		"budgets": {func(kind any) bool { _, is := kind.(*policyv1.PodDisruptionBudgetList); return is }, []string{
			"the budgets of namespace shop cannot be read, so the plan assumes that its pods have none", "the budgets of namespace slipway cannot be read",
		}},
		"rules": {func(kind any) bool { _, is := kind.(*slipwayv1alpha1.DrainRuleList); return is }, []string{"the DrainRules cannot be read, so the plan assumes that there are no rules"}},
		"the rights of the controller": {func(kind any) bool { _, is := kind.(*rbacv1.ClusterRoleBinding); return is }, []string{
			"the permissions of Slipway's controller cannot be read, so the assumed namespace of Slipway is slipway-system",
		}},
		"claims":  {func(kind any) bool { _, is := kind.(*corev1.PersistentVolumeClaimList); return is }, []string{"volumes and their claims cannot be read"}},
		"volumes": {func(kind any) bool { _, is := kind.(*corev1.PersistentVolumeList); return is }, []string{"volumes and their claims cannot be read"}},
		"all but the node's pods": {func(any) bool { return true }, []string{
			"the nodes of the cluster", "node worker-1 cannot be read, so the plan assumes that it exists and is Ready", "the permissions of Slipway's controller", "the labels of namespaces", "the DrainRules",
			"the budgets of namespace shop", "the budgets of namespace slipway",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := surveyed(t, &library{refused: tc.refused}, "worker-1")
			if len(f.Unread) != len(tc.want) {
				t.Fatalf("unread (-want +got):\n%s", cmp.Diff(tc.want, f.Unread))
			}
			for i, want := range tc.want {
				if !strings.HasPrefix(f.Unread[i], want) || !strings.Contains(f.Unread[i], "not yours") {
					t.Errorf("got %q, want %q and why", f.Unread[i], want)
				}
			}
			if slices.ContainsFunc(tc.want, func(s string) bool { return strings.Contains(s, "nodes for replacements") }) && f.Nodes != nil {
				t.Error("something could still be said of replacements, of nodes without their pods")
			}
			if len(f.Drains.Nodes[0].Pods) != 2 {
				t.Errorf("%d pods of the node", len(f.Drains.Nodes[0].Pods))
			}
		})
	}
}

func TestAPlanOfNoNodeIsAnError(t *testing.T) {
	_, err := (&Reader{&library{refused: func(any) bool { return false }}}).Plan(t.Context(), time.Time{}, []string{"worker-9"}, drain.Request{})
	if err == nil || !strings.Contains(err.Error(), `there is no node "worker-9"`) {
		t.Errorf("error %v", err)
	}
}

func TestAServerThatDoesNotAnswerMakesNoPlan(t *testing.T) {
	_, err := (&Reader{refusing{err: errors.New("connection refused")}}).Plan(t.Context(), time.Time{}, []string{"worker-1"}, drain.Request{})
	if err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("error %v", err)
	}
}

func surveyed(t *testing.T, l *library, nodes ...string) plan.Facts {
	t.Helper()
	f, err := (&Reader{l}).Plan(t.Context(), time.Time{}, nodes, drain.Request{PodTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return f
}
