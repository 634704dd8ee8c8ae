// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

// Requests are those of anybody that the API server has answered so far and that are
// wanted.
func (e *Env) Requests(t *testing.T, wanted func(auditlog.Request) bool) []auditlog.Request {
	t.Helper()
	if err := e.settle(); err != nil {
		t.Fatal(err)
	}
	all, err := e.log.upToNow(e.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	var found []auditlog.Request
	for _, request := range all {
		if wanted(request) {
			found = append(found, request)
		}
	}
	return found
}

// Changes are those of the requests so far by which it is seen whether promises were kept,
// with what they said and what was answered.
func (e *Env) Changes(t *testing.T) []auditlog.Request {
	t.Helper()
	if err := e.settle(); err != nil {
		t.Fatal(err)
	}
	changes, err := e.log.changes(e.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

// requests are those that the API server has answered so far and that are wanted.
func (n *Node) requests(wanted func(auditlog.Request) bool) []auditlog.Request {
	n.t.Helper()
	all, err := n.env.log.upToNow(n.env.AuditLog)
	if err != nil {
		n.t.Fatal(err)
	}
	var found []auditlog.Request
	for _, request := range all {
		if wanted(request) {
			found = append(found, request)
		}
	}
	return found
}

// Writes are what was written so far by those who act for the node, or to its events,
// in the order in which it was answered.
func (n *Node) Writes() []auditlog.Request {
	n.t.Helper()
	return n.requests(func(r auditlog.Request) bool {
		asNode := r.Impersonated == "system:node:"+n.Name && r.Resource != "events"
		toEvent := r.Resource == "lifecycleevents" && strings.HasSuffix(r.Name, "-"+n.Name) &&
			strings.HasPrefix(r.User, "system:serviceaccount:")
		return (asNode || toEvent) && r.Code < 300 &&
			slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb)
	})
}

// LastWrite is the last of [Node.Writes], in a line for people.
func (n *Node) LastWrite() string {
	n.t.Helper()
	writes := n.Writes()
	if len(writes) == 0 {
		return "nothing was written"
	}
	return writes[len(writes)-1].String()
}

// LastStatusWrite is the last write of the status of an event.
func (n *Node) LastStatusWrite(event string) auditlog.Request {
	n.t.Helper()
	for _, request := range slices.Backward(n.Writes()) {
		if request.Subresource == "status" && request.Resource == "lifecycleevents" && request.Name == event {
			return request
		}
	}
	n.t.Fatalf("the audit log has no write of the status of %s", event)
	return auditlog.Request{}
}

// Evictions are the requests for evictions that were made for the node, also those
// that were refused.
func (n *Node) Evictions() []auditlog.Request {
	n.t.Helper()
	return n.requests(func(r auditlog.Request) bool {
		return r.Impersonated == "system:node:"+n.Name && r.Resource == "pods" && r.Subresource == "eviction"
	})
}

// EvictedOnly checks that evictions were asked for of the given pods and no others, of
// each at least once, and all by UID.
func (n *Node) EvictedOnly(pods ...*corev1.Pod) {
	n.t.Helper()
	missing := map[string]bool{}
	uids := map[string]string{}
	for _, pod := range pods {
		uids[pod.Name], missing[pod.Name] = string(pod.UID), true
	}
	for _, request := range n.Evictions() {
		if len(request.Body) == 0 && request.Code >= http.StatusInternalServerError {
			continue // its sender was killed over it: the server has read no body, and done nothing
		}
		delete(missing, request.Name)
		var eviction policyv1.Eviction
		if err := json.Unmarshal(request.Body, &eviction); err != nil {
			n.t.Errorf("%s: what it asked for cannot be read: %v", request, err)
			continue
		}
		var uid string
		if options := eviction.DeleteOptions; options != nil && options.Preconditions != nil && options.Preconditions.UID != nil {
			uid = string(*options.Preconditions.UID)
		}
		if want, ours := uids[request.Name]; !ours || uid != want {
			n.t.Errorf("%s: evicted by UID %q; want that of one of the pods %v", request, uid, uids)
		}
	}
	if len(missing) > 0 {
		n.t.Errorf("not evicted: %v", missing)
	}
}

// Untouched checks that the pods are as they were.
func (e *Env) Untouched(t *testing.T, pods ...*corev1.Pod) {
	t.Helper()
	for _, want := range pods {
		var pod corev1.Pod
		if err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(want), &pod); err != nil {
			t.Errorf("pod %s: %v", want.Name, err)
			continue
		}
		if pod.UID != want.UID || pod.DeletionTimestamp != nil {
			t.Errorf("pod %s has UID %s and was deleted at %v; want UID %s, not deleted", pod.Name, pod.UID, pod.DeletionTimestamp, want.UID)
		}
	}
}
