// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

const (
	agent = "system:serviceaccount:slipway-system:slipway-node-agent"
	user  = "admin"
)

// script is an audit log in the making.
type script struct{ requests []auditlog.Request }

// add appends a request that was answered a second after the one before it.
func (s *script) add(user, verb, resource, name, body, answer string) *script {
	resource, subresource, _ := strings.Cut(resource, "/")
	namespace, bare, namespaced := strings.Cut(name, "/")
	if !namespaced {
		namespace, bare = "", name
	}
	ended := time.Date(2026, 1, 2, 3, 4, len(s.requests), 0, time.UTC)
	s.requests = append(s.requests, auditlog.Request{
		Began: ended.Add(-time.Millisecond), Ended: ended, User: user, Verb: verb, Code: 200,
		Resource: resource, Subresource: subresource, Namespace: namespace, Name: bare,
		Body: json.RawMessage(body), Answer: json.RawMessage(answer),
	})
	return s
}

// as has the last request made as somebody else.
func (s *script) as(who string) *script {
	s.requests[len(s.requests)-1].Impersonated = who
	return s
}

// in has the last request made in an API group.
func (s *script) in(group string) *script {
	s.requests[len(s.requests)-1].Group = group
	return s
}

func (s *script) pod(name, uid, node, more string) *script {
	return s.add(user, "create", "pods", "shop/"+name, "", fmt.Sprintf(
		`{"kind":"Pod","metadata":{"name":%q,"namespace":"shop","uid":%q,"labels":{"app":"web"}%s},"spec":{"nodeName":%q},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`,
		name, uid, more, node))
}

func (s *script) evict(who, name, uid string) *script {
	return s.add(who, "create", "pods/eviction", "shop/"+name, fmt.Sprintf(`{"deleteOptions":{"preconditions":{"uid":%q}}}`, uid), "{}")
}

// slow has the last request begin before the n that were answered before it.
func (s *script) slow(n int) *script {
	r := &s.requests[len(s.requests)-1]
	r.Began = r.Began.Add(-time.Duration(n) * time.Second)
	return s
}

// gone has a pod be deleted for good, by somebody else.
func (s *script) gone(name, uid string) *script {
	return s.add(user, "delete", "pods", "shop/"+name, "", fmt.Sprintf(
		`{"kind":"Pod","metadata":{"name":%q,"namespace":"shop","uid":%q}}`, name, uid))
}

func (s *script) budget(allowed int) *script {
	return s.add("kcm", "update", "poddisruptionbudgets/status", "shop/web", "", fmt.Sprintf(
		`{"kind":"PodDisruptionBudget","metadata":{"name":"web","namespace":"shop"},"spec":{"selector":{"matchLabels":{"app":"web"}}},"status":{"disruptionsAllowed":%d}}`, allowed))
}

func (s *script) event(name, phase, finalizers string) *script {
	return s.eventOf("NodeAgent", name, phase, finalizers)
}

func (s *script) eventOf(claimer, name, phase, finalizers string) *script {
	return s.add(agent, "update", "lifecycleevents/status", name, "", fmt.Sprintf(
		`{"kind":"LifecycleEvent","metadata":{"name":%q,"uid":%q,"finalizers":[%s]},"spec":{"bindingNode":"w1"},"status":{"claimStatus":%q,"claimedBy":{"kind":%q,"identity":"w1"}}}`, name, name, finalizers, phase, claimer))
}

func (s *script) end(name string) *script {
	return s.event(name, "Succeeded", protected).event(name, "Succeeded", "").add(agent, "delete", "lifecycleevents", name, "", "{}")
}

func (s *script) node(annotations string) *script {
	return s.add(agent, "patch", "nodes", "w1", "", fmt.Sprintf(`{"kind":"Node","metadata":{"name":"w1","annotations":{%s}}}`, annotations))
}

const protected = `"lifecycle.k8s.io/claim-protection"`

func begun() *script {
	return (&script{}).pod("a", "1", "w1", "").budget(1).event("drain", "Pending", "").event("drain", "Claimed", protected)
}

// outcome is what is said of a log.
type outcome struct {
	script  *script
	options Options
	want    []string // a part of each violation
}

func (o outcome) check(t *testing.T) {
	t.Helper()
	got := Check(o.script.requests, o.options)
	matches := cmp.Comparer(func(a, b string) bool { return strings.Contains(a, b) || strings.Contains(b, a) })
	if diff := cmp.Diff(o.want, got, matches); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}
