// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/test/chaos/plan"
	"github.com/slipway-k8s/slipway/test/harness"
)

// patience is how long something may take, whatever goes wrong meanwhile.
const patience = 3 * time.Minute

// app is a Deployment with a pod on each node, and how many of them its budget lets go at a
// time; 0: it has none.
type app struct {
	name string
	away int
}

var apps = [plan.PodsOfANode]app{{"chaos-a", 1}, {"chaos-b", 2}, {"chaos-c", 0}}

// populate puts the apps onto the nodes.
func (s *stage) populate() {
	s.t.Helper()
	for _, a := range apps {
		labels := &metav1.LabelSelector{MatchLabels: map[string]string{"app": a.name}}
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: a.name, Namespace: metav1.NamespaceDefault}}
		d.Spec = appsv1.DeploymentSpec{
			Replicas: new(int32(plan.Nodes)), Selector: labels,
			Template: harness.PodSpec(a.name, group, harness.PodOptions{Ready: 200 * time.Millisecond, Gone: time.Second}),
			Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxUnavailable: new(intstr.FromString("100%")), MaxSurge: new(intstr.FromInt32(0)),
			}},
		}
		honor := corev1.NodeInclusionPolicyHonor
		d.Spec.Template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: labels,
			NodeTaintsPolicy: &honor, MatchLabelKeys: []string{appsv1.DefaultDeploymentUniqueLabelKey},
		}}
		if err := s.env.Client.Create(s.t.Context(), d); err != nil {
			s.t.Fatal(err)
		}
		if a.away == 0 {
			continue
		}
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: a.name, Namespace: metav1.NamespaceDefault}}
		b.Spec.Selector, b.Spec.MaxUnavailable = labels, new(intstr.FromInt(a.away))
		if err := s.env.Client.Create(s.t.Context(), b); err != nil {
			s.t.Fatal(err)
		}
	}
}

// refresh gives each node its pods again: what was drained is empty, whoever had to take
// the pods has too many. A scheduler that was cut off sees up to half a minute later that a
// node is back: until then they are spread once more.
func (s *stage) refresh(t *testing.T) {
	t.Helper()
	for _, node := range s.nodes {
		s.isBack(t, node)
	}
	for end := time.Now().Add(patience); ; {
		s.rollOut(t)
		on := s.podsOn(t)
		if !slices.ContainsFunc(s.nodes, func(node string) bool { return on[node] != plan.PodsOfANode }) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after %s, not each node has its %d pods: %v", patience, plan.PodsOfANode, on)
		}
	}
}

// rollOut has all pods replaced.
func (s *stage) rollOut(t *testing.T) {
	t.Helper()
	now := time.Now().Format(time.RFC3339Nano)
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"template":{"metadata":{"annotations":{"slipway.test/refreshed":"`+now+`"}}}}}`))
	for _, a := range apps {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: a.name, Namespace: metav1.NamespaceDefault}}
		s.persist(t, "refresh "+a.name, func(ctx context.Context) error { return s.env.Client.Patch(ctx, d, patch) })
	}
	for _, a := range apps {
		harness.Await(t, s.env, "deployment "+a.name+" is refreshed", &appsv1.DeploymentList{}, func(d *appsv1.Deployment) bool {
			st := d.Status
			return d.Spec.Template.Annotations["slipway.test/refreshed"] == now && st.ObservedGeneration == d.Generation &&
				st.UpdatedReplicas == plan.Nodes && st.ReadyReplicas == plan.Nodes && st.Replicas == plan.Nodes
		}, harness.Named(a.name))
		if a.away > 0 {
			harness.Await(t, s.env, "budget "+a.name+" is fresh", &policyv1.PodDisruptionBudgetList{}, func(b *policyv1.PodDisruptionBudget) bool {
				return b.Status.CurrentHealthy == plan.Nodes && int(b.Status.DisruptionsAllowed) == a.away
			}, harness.Named(a.name))
		}
	}
}

func (s *stage) podsOn(t *testing.T) map[string]int {
	t.Helper()
	on := map[string]int{}
	for _, p := range s.pods(t) {
		on[p.Spec.NodeName]++
	}
	return on
}

// pods are those of the apps that are not about to go.
func (s *stage) pods(t *testing.T) (pods []corev1.Pod) {
	t.Helper()
	var all corev1.PodList
	s.persist(t, "list pods", func(ctx context.Context) error {
		return s.env.Client.List(ctx, &all, client.InNamespace(metav1.NamespaceDefault))
	})
	for _, p := range all.Items {
		if p.DeletionTimestamp == nil {
			pods = append(pods, p)
		}
	}
	return pods
}

// stubborn is for the test's own requests, which go to the API server itself: that may be
// away for a while.
var stubborn = wait.Backoff{Duration: time.Second / 4, Steps: 240}

// persist makes a request until it is answered.
func (s *stage) persist(t *testing.T, what string, request func(context.Context) error) {
	t.Helper()
	err := retry.OnError(stubborn, passes, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		return request(ctx)
	})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// passes: it is no answer about what was asked, and there may be one later.
func passes(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return true
	}
	code := answer.Status().Code
	return code >= 500 || code == 429 || apierrors.IsConflict(err)
}

// create creates an object. It may have been, and the answer was lost.
func (s *stage) create(t *testing.T, person client.Client, o client.Object) {
	t.Helper()
	s.persist(t, fmt.Sprintf("create %s", o.GetName()), func(ctx context.Context) error {
		err := person.Create(ctx, o)
		if apierrors.IsAlreadyExists(err) {
			return s.env.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
		}
		return err
	})
}

// remove deletes an object, if it is there.
func (s *stage) remove(t *testing.T, o client.Object) {
	t.Helper()
	s.persist(t, "delete "+o.GetName(), func(ctx context.Context) error {
		return client.IgnoreNotFound(s.env.Client.Delete(ctx, o))
	})
}
