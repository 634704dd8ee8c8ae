// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/slipway-k8s/slipway/internal/eviction/surge"
	"github.com/slipway-k8s/slipway/responderkit"
)

// served is a namespace's work on an API server that gives the answers of a test. What the
// watches show is put there by the test, too.
func served(t *testing.T, answer http.HandlerFunc) *namespace {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	s, err := New(&rest.Config{Host: server.URL}, clock.RealClock{}, Labelled)
	if err != nil {
		t.Fatal(err)
	}
	n := newNamespace(s, "shop")
	if n.watches, err = newWatches(s.clients, n.name); err != nil {
		t.Fatal(err)
	}
	return n
}

// show puts into the watches a Deployment of one pod that is Ready, with a turn.
func (n *namespace) show(t *testing.T, name string) (*corev1.Pod, *run) {
	t.Helper()
	app := map[string]string{"app": name}
	labels := map[string]string{"app": name, surge.LabelHash: "6d5b"}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: n.name, Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: "1"}
	}
	d := &appsv1.Deployment{ObjectMeta: meta(name)}
	d.Spec.Replicas, d.Spec.Template.Labels = new(int32(1)), app
	rs := &appsv1.ReplicaSet{ObjectMeta: meta(name + "-6d5b")}
	rs.Labels, rs.Spec.Replicas, rs.Spec.Template.Labels = labels, new(int32(1)), labels
	rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	rs.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	pod := &corev1.Pod{ObjectMeta: meta(name + "-6d5b-1")}
	pod.Labels = labels
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	for _, err := range []error{
		n.watches.deployments.GetIndexer().Add(d), n.watches.replicaSets.GetIndexer().Add(rs), n.watches.pods.GetIndexer().Add(pod),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	own := &run{over: make(chan struct{}), since: n.surger.clock.Now(), report: func(string) {}}
	own.eviction = responderkit.Eviction{Namespace: n.name, PodName: pod.Name, PodUID: pod.UID}
	n.runs.add(own)
	return pod, own
}

// shown answers who reads a Deployment with what the watch shows.
func (n *namespace) shown(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/deployments/") {
		return false
	}
	found, _ := cached[*appsv1.Deployment](n.watches.deployments, n.name, r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:])
	respond(w, http.StatusOK, found)
	return true
}

func respond(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object) // the client says if it is not whole
}
