// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/test/auditcheck"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// Requests are the wanted ones of those that the API server has answered so far, of any user.
func (e *Env) Requests(t *testing.T, wanted func(auditlog.Request) bool) []auditlog.Request {
	t.Helper()
	if err := e.settle(); err != nil {
		t.Fatal(err)
	}
	return e.logged(t, wanted)
}

// logged are the wanted ones of the requests that the audit log has now.
func (e *Env) logged(t *testing.T, wanted func(auditlog.Request) bool) []auditlog.Request {
	t.Helper()
	all, err := e.log.upToNow(e.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(slices.Clone(all), func(r auditlog.Request) bool { return !wanted(r) })
}

// Changes returns those of the requests so far that auditcheck judges, with their bodies and
// answers.
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

// Writes returns the writes so far by the node's agent, or to the node's events, in the order in
// which they were answered.
func (n *Node) Writes() []auditlog.Request {
	n.t.Helper()
	return n.env.logged(n.t, func(r auditlog.Request) bool {
		asNode := n.byAgent(r) && r.Resource != "events"
		toEvent := r.Resource == "lifecycleevents" && strings.HasSuffix(r.Name, "-"+n.Name) &&
			strings.HasPrefix(r.User, "system:serviceaccount:")
		return (asNode || toEvent) && r.Code < 300 &&
			slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb)
	})
}

// Evictions returns the requests for evictions by the node's agent, also refused ones.
func (n *Node) Evictions() []auditlog.Request {
	n.t.Helper()
	return n.env.logged(n.t, func(r auditlog.Request) bool {
		return n.byAgent(r) && r.Resource == "pods" && r.Subresource == "eviction"
	})
}

// byAgent returns whether the node's agent or driver made the request as its node, or, in the reduced variant, as itself.
func (n *Node) byAgent(r auditlog.Request) bool {
	return r.Impersonated == "system:node:"+n.Name || n.env.Reduced() && r.TokenNode == n.Name
}

// EvictedOnly checks that there were requests to evict the given pods and no others, each at least
// once, and all by UID.
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
			n.t.Errorf("%s: its body cannot be read: %v", request, err)
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

// Untouched checks that the pods were neither deleted nor replaced.
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

// requestLog is the part of the audit log that was read. It is read in steps: it grows by tens of
// megabytes while many tests read it.
type requestLog struct {
	mu       sync.Mutex
	tail     auditlog.Tail
	requests []auditlog.Request
	changed  []auditlog.Request // requests that auditcheck judges
}

// upToNow reads the rest of the log, and returns all requests, which the caller must not change.
func (l *requestLog) upToNow(path string) ([]auditlog.Request, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.read(path); err != nil {
		return nil, err
	}
	return slices.Clip(l.requests), nil
}

// changes returns those of the requests up to now that auditcheck judges.
func (l *requestLog) changes(path string) ([]auditlog.Request, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.read(path); err != nil {
		return nil, err
	}
	return slices.Clip(l.changed), nil
}

func (l *requestLog) read(path string) error {
	requests, err := l.tail.Requests(path)
	if err != nil {
		return err
	}
	for _, r := range requests {
		if auditcheck.Wanted(r) {
			l.changed = append(l.changed, r)
		}
		if r.Subresource != "eviction" {
			r.Body = nil // only evictions' bodies are read
		}
		r.Answer = nil
		l.requests = append(l.requests, r)
	}
	return nil
}

// EvictionsSince returns those of [Node.Evictions] that were sent at the given time or later.
func (n *Node) EvictionsSince(t time.Time) []auditlog.Request {
	n.t.Helper()
	return slices.DeleteFunc(n.Evictions(), func(r auditlog.Request) bool { return r.Began.Before(t) })
}
