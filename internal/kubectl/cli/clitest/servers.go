// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/nodelease"
)

// OneNode is a cluster with Slipway, and with worker-1 as its only node.
func OneNode(t *testing.T) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		name, isNode := strings.CutPrefix(r.URL.Path, "/api/v1/nodes/")
		switch {
		case name == "worker-1":
			_, _ = io.WriteString(w, `{"kind":"Node","apiVersion":"v1","metadata":{"name":"worker-1"}}`)
		case r.URL.Path == "/api/v1/nodes":
			_, _ = io.WriteString(w, `{"items":[{"metadata":{"name":"worker-1"}}]}`)
		case isNode:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		case strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList"):
			_, _ = io.WriteString(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[]}`)
		default:
			_, _ = io.WriteString(w, `{"items":[]}`)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TheLease is a server on which ada asks, with worker-1 and its lease as it is given. It
// refuses to write.
func TheLease(t *testing.T, lease string) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, code := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`, http.StatusNotFound
		switch {
		case r.Method == http.MethodPut || strings.Contains(lease, "Forbidden"):
			answer, code = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"ada may not","reason":"Forbidden","code":403}`, http.StatusForbidden
		case r.URL.Path == "/apis/authentication.k8s.io/v1/selfsubjectreviews":
			answer, code = `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1","status":{"userInfo":{"username":"ada"}}}`, http.StatusCreated
		case r.URL.Path == "/api/v1/nodes/worker-1":
			answer, code = `{"kind":"Node","apiVersion":"v1","metadata":{"name":"worker-1","uid":"u1"},
"status":{"conditions":[{"type":"MaintenancePlanned","status":"True","message":"night (not before 2026-05-01T22:00:00Z)"}]}}`, http.StatusOK
		case strings.HasSuffix(r.URL.Path, "/kube-node-maintenance/leases/worker-1") && lease != "":
			answer, code = lease, http.StatusOK
		case r.Method == http.MethodPost:
			answer = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"namespaces \"kube-node-maintenance\" not found","reason":"NotFound","details":{"kind":"namespaces"},"code":404}`
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// LeaseAs is a Lease as the server has it. Its times are long ago.
func LeaseAs(holder string) string {
	return `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"worker-1","namespace":"kube-node-maintenance","resourceVersion":"7",
"annotations":{"slipway.dev/purpose":"new disk"}},"spec":{"holderIdentity":"` + holder + `","leaseDurationSeconds":60,
"acquireTime":"2026-05-01T12:00:00.000000Z","renewTime":"2026-05-01T12:00:00.000000Z"}}`
}

// LeasedTo returns worker-1 with the controller's annotation for the holder of its lease.
func LeasedTo(holder string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}}
	if holder != "" {
		n.Annotations = map[string]string{nodelease.Annotation: `{"holder":"` + holder + `","purpose":"new disk","since":"2026-05-01T11:00:00Z"}`}
	}
	return n
}
