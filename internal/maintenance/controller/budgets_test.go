// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-k8s/slipway/internal/maintenance"
)

// budgetServer lists a pod and its budget. It lists pods when it is told to, and refuses
// budgets if there are to be none.
func budgetServer(t *testing.T, mayList <-chan struct{}, refuse bool) kubernetes.Interface {
	t.Helper()
	web := map[string]string{"app": "web"}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query, ofPods := r.URL.Query(), strings.HasSuffix(r.URL.Path, "/pods")
		w.Header().Set("Content-Type", "application/json")
		switch {
		case refuse && !ofPods:
			answer(w, apierrors.NewForbidden(policyv1.Resource("poddisruptionbudgets"), "", nil))
		case query.Get("sendInitialEvents") != "":
			answer(w, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("ListOptions").GroupKind(), "", nil))
		case query.Get("watch") != "":
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case ofPods:
			select {
			case <-mayList:
			case <-r.Context().Done():
			}
			if got := query.Get("fieldSelector"); got != onNodes {
				t.Errorf("pods were selected by %q", got)
			}
			pod := podAt("n1", "shop", web)
			pod.Name, pod.UID, pod.ResourceVersion = "web-1", "uid", "1"
			send(w, &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.Pod{*pod}})
		default:
			b := budgetFor("shop", "web", web)
			b.UID, b.ResourceVersion = "uid", "1"
			send(w, &policyv1.PodDisruptionBudgetList{
				TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudgetList"},
				ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []policyv1.PodDisruptionBudget{*b},
			})
		}
	}))
	t.Cleanup(s.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func answer(w http.ResponseWriter, refusal *apierrors.StatusError) {
	status := refusal.Status()
	w.WriteHeader(int(status.Code))
	send(w, &status)
}

// send is read by the client, who says if it is not whole.
func send(w http.ResponseWriter, o runtime.Object) { _ = json.NewEncoder(w).Encode(o) }

func TestBudgetsAreWaitedForWhileTheyAreAskedFor(t *testing.T) {
	mayList, changed := make(chan struct{}), make(chan struct{}, 100)
	b := watchesAfterLull(budgetServer(t, mayList, false), func() { changed <- struct{}{} })
	now := time.Unix(2000, 0)
	if until := follow(t, b, maintenance.Decision{}, now); !until.IsZero() || b.budgetsByNode() != nil {
		t.Error("something is known, or waited for, before anything was asked for")
	}
	if until := follow(t, b, maintenance.Decision{Budgets: true}, now); !until.Equal(now.Add(patience)) {
		t.Errorf("it is waited for until %s", until)
	}
	awaitChange(t, changed) // the budgets: without the pods, no node is known to have none
	if b.budgetsByNode() != nil {
		t.Error("the budgets of nodes are known before their pods are")
	}
	close(mayList)
	awaitChange(t, changed)
	if until := follow(t, b, maintenance.Decision{Budgets: true}, now); !until.IsZero() {
		t.Errorf("it is waited for until %s although they are known", until)
	}
	if diff := cmp.Diff(map[string][]string{"n1": {"shop/web"}}, b.budgetsByNode()); diff != "" {
		t.Errorf("budgets of nodes (-want +got):\n%s", diff)
	}
	b.close()
	if b.budgetsByNode() != nil {
		t.Error("they are still watched")
	}
}

func TestBudgetsThatCannotBeReadHoldNothingUpForEver(t *testing.T) {
	mayList := make(chan struct{})
	close(mayList)
	b := watchesAfterLull(budgetServer(t, mayList, true), func() {})
	defer b.close()
	now := time.Unix(2000, 0)
	until := follow(t, b, maintenance.Decision{Budgets: true}, now)
	if again := follow(t, b, maintenance.Decision{Budgets: true}, until.Add(-time.Second)); !again.Equal(until) {
		t.Errorf("it is waited for until %s, and then until %s", until, again)
	}
	if again := follow(t, b, maintenance.Decision{Budgets: true}, until); !again.IsZero() {
		t.Errorf("it is waited for until %s", again)
	}
	if b.budgetsByNode() != nil {
		t.Error("without its budgets, something is known of a node")
	}
}
