// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/internal/eviction/surge"
)

// TestANamespaceThatIsSlowToReadHoldsUpNoOther: an answer about one is not waited for by
// who asks about another.
func TestANamespaceThatIsSlowToReadHoldsUpNoOther(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	n := served(t, func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		if name == "slow" {
			close(asked)
			<-answer
		}
		respond(w, http.StatusOK, &corev1.Namespace{
			TypeMeta:   metav1.TypeMeta{Kind: "Namespace", APIVersion: "v1"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{surge.Responder: "true"}},
		})
	})
	labels := n.surger.labels
	done := make(chan error, 1)
	go func() { _, err := labels.get(t.Context(), "slow"); done <- err }()
	<-asked
	quick := make(chan error, 1)
	go func() { _, err := labels.get(t.Context(), "quick"); quick <- err }()
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()
	select {
	case err := <-quick:
		if err != nil {
			t.Error(err)
		}
	case <-ctx.Done():
		t.Error("the other namespace is waited for")
	}
	close(answer)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestABudgetThatSaysNothingYetIsAskedForAgain: who evicts a pod as soon as it is there must not
// go past us because its budget's controller is slower.
func TestABudgetThatSaysNothingYetIsAskedForAgain(t *testing.T) {
	budget := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web", Generation: 1, CreationTimestamp: metav1.NewTime(time.Now().Add(-countedWithin / 2)),
	}}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	n := served(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/poddisruptionbudgets") {
			respond(w, http.StatusOK, &policyv1.PodDisruptionBudgetList{
				TypeMeta: metav1.TypeMeta{Kind: "PodDisruptionBudgetList", APIVersion: "policy/v1"}, Items: []policyv1.PodDisruptionBudget{budget},
			})
			return
		}
		respond(w, http.StatusOK, &corev1.Namespace{TypeMeta: metav1.TypeMeta{Kind: "Namespace", APIVersion: "v1"}})
	})
	n.surger.scope = Blocked
	pod, _ := n.show(t, "web")

	pod.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
	for _, seen := range []func(){func() {}, func() { budget.Status.ObservedGeneration = 1 }} {
		seen()
		if applies, err := n.surger.Applies(t.Context(), pod); !errors.Is(err, errNotCounted) || applies {
			t.Errorf("with %+v, it applies: %t, %v", budget.Status, applies, err)
		}
	}
	budget.CreationTimestamp.Time = time.Now().Add(-countedWithin)
	if applies, err := n.surger.Applies(t.Context(), pod); err != nil || applies {
		t.Errorf("of a budget that never counts the pod, it applies: %t, %v", applies, err)
	}
	n.surger.budgets.forget(pod.Namespace)
	budget.Status.ExpectedPods, budget.Status.DesiredHealthy = 1, 1
	if applies, err := n.surger.Applies(t.Context(), pod); err != nil || !applies {
		t.Errorf("it applies: %t, %v", applies, err)
	}
}
