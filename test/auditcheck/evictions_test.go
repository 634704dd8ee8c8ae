// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"fmt"
	"testing"
)

const (
	controller = "system:serviceaccount:slipway-system:slipway-controller"
	collector  = "system:serviceaccount:kube-system:generic-garbage-collector"
)

// eviction writes an Eviction of pod a, as it is after that.
func (s *script) eviction(who, verb, resource, name, uid, version, conditions string) *script {
	return s.add(who, verb, resource, "shop/"+name, "", fmt.Sprintf(
		`{"kind":"Eviction","metadata":{"name":%q,"namespace":"shop","uid":%q,"resourceVersion":%q},`+
			`"spec":{"target":{"pod":{"name":"a","uid":%q}}},"status":{"conditions":[%s]}}`, name, name, version, uid, conditions)).in("lifecycle.k8s.io")
}

// answered has the last request answered with a code.
func (s *script) answered(code int) *script {
	s.requests[len(s.requests)-1].Code = code
	return s
}

// saying gives the last request an answer.
func (s *script) saying(answer string) *script {
	s.requests[len(s.requests)-1].Answer = []byte(answer)
	return s
}

// What the server says of times that are not its own.
const (
	past        = `{"kind":"Status","details":{"causes":[{"message":"Invalid value: \"2026-11-22T15:49:07Z\": must be set to the present time"}]}}`
	noRight     = `{"kind":"Status","reason":"Forbidden","details":{"name":"e","group":"lifecycle.k8s.io","kind":"evictions"}}`
	byPolicy    = `{"kind":"Status","reason":"Forbidden","details":{"causes":[{"message":"ValidatingAdmissionPolicy 'evictions' denied request"}]}}`
	before      = `{"kind":"Status","details":{"causes":[{"message":"Invalid value: \"2026-11-22T15:49:07Z\": must occur after status.responders[0].startTime"}]}}`
	pastAndMore = `{"kind":"Status","details":{"causes":[{"message":"Invalid value: \"x\": must be set to the present time"},{"message":"Required value"}]}}`
)

func TestCheckOfEvictions(t *testing.T) {
	const ended = `{"type":"Failed","status":"True"}`
	status := func(who string, code int) *script {
		return (&script{}).eviction(who, "update", "evictions/status", "e", "1", "7", "").answered(code)
	}
	one := func() *script { return (&script{}).eviction(controller, "create", "evictions", "e", "1", "1", "") }
	asked := func(uid, conditions string) *script {
		return (&script{}).pod("a", "1", "w1", "").eviction(user, "create", "evictions", "e", uid, "1", conditions)
	}
	for name, tc := range map[string]outcome{
		"an eviction that an Eviction asks for": {script: asked("1", "").evict(controller, "a", "1")},
		"an eviction by a node that an Eviction asks for": {
			script: asked("1", "").evict(agent, "a", "1").as("system:node:w1"), want: []string{"no drain was in progress"},
		},
		"an eviction when the Eviction has ended": {
			script: asked("1", ended).passes(6).evict(controller, "a", "1"), want: []string{"no drain was in progress"},
		},
		"an eviction when it has only just ended, which nobody can know yet": {
			script: asked("1", "").eviction(controller, "update", "evictions/status", "e", "1", "2", ended).evict(controller, "a", "1"),
		},
		"an eviction when the Eviction has only just gone": {
			script: asked("1", "").add(collector, "delete", "evictions", "shop/e", "", "{}").in("lifecycle.k8s.io").evict(controller, "a", "1"),
		},
		"an eviction when the Eviction has gone": {
			script: asked("1", "").add(collector, "delete", "evictions", "shop/e", "", "{}").in("lifecycle.k8s.io").passes(6).evict(controller, "a", "1"),
			want:   []string{"no drain was in progress"},
		},
		"an eviction after the garbage collector has taken an owner away": {
			script: asked("1", "").add(collector, "patch", "evictions", "shop/e", "",
				`{"kind":"PartialObjectMetadata","metadata":{"name":"e","namespace":"shop","uid":"e","resourceVersion":"2"}}`).in("lifecycle.k8s.io").
				evict(controller, "a", "1"),
		},
		"an eviction while one of another pod runs": {
			script: asked("2", "").evict(controller, "a", "1"), want: []string{"no drain was in progress"},
		},
		"a write that the server refuses": {
			script: status(controller, 422), want: []string{"update evictions/status shop/e 422 by " + controller + ": refused by the server"},
		},
		"a write that there is no right to": {script: status(controller, 403), want: []string{"refused by the server"}},
		"that, where the server is started again": {
			script: status(controller, 403).saying(noRight), options: Options{Restarts: true}, want: []string{"never let do it"},
		},
		"a write that the server has let us do before it was started again": {
			script: again(403, noRight), options: Options{Restarts: true},
		},
		"that, where it was not started again": {script: again(403, noRight), want: []string{"refused by the server"}},
		"a write that a policy refuses, where the server is started again": {
			script: again(403, byPolicy), options: Options{Restarts: true}, want: []string{"refused by the server"},
		},
		"a request's status that the server refuses": {
			script: (&script{}).eviction(controller, "update", "evictionrequests/status", "r", "1", "7", "").answered(422),
			want:   []string{"evictionrequests/status shop/r"},
		},
		"the namespace goes": {script: status(controller, 403).saying(
			`{"kind":"Status","reason":"Forbidden","details":{"causes":[{"reason":"NamespaceTerminating"}]}}`)},
		"the namespace goes, and something else is wrong": {
			script: status(controller, 403).saying(
				`{"kind":"Status","reason":"Forbidden","details":{"causes":[{"reason":"NamespaceTerminating"},{"reason":"FieldValueInvalid"}]}}`),
			want: []string{"refused by the server"},
		},
		"a time that is not the server's":             {script: status(controller, 422).saying(past), want: []string{"refused by the server"}},
		"that, where clocks are set":                  {script: status(controller, 422).saying(past), options: Options{ClocksJump: true}},
		"a time before another, where clocks are set": {script: status(controller, 422).saying(before), options: Options{ClocksJump: true}},
		"another fault, where clocks are set": {
			script: status(controller, 422).saying(pastAndMore), options: Options{ClocksJump: true}, want: []string{"refused by the server"},
		},
		"somebody else was faster":         {script: status(controller, 409)},
		"it is gone":                       {script: status(controller, 404)},
		"the server has too much to do":    {script: status(controller, 429)},
		"the server has failed":            {script: status(controller, 500)},
		"what others are refused":          {script: status(user, 422)},
		"a write as a dry run":             {script: dried(status(controller, 422))},
		"one Eviction after the other":     {script: one().eviction(user, "update", "evictions/status", "e", "1", "2", ended).eviction(controller, "create", "evictions", "f", "1", "3", "")},
		"one Eviction after one was taken": {script: one().eviction(user, "delete", "evictions", "e", "1", "2", "").eviction(controller, "create", "evictions", "f", "1", "3", "")},
		"Evictions of two pods":            {script: one().eviction(controller, "create", "evictions", "f", "2", "3", "")},
		"an Eviction beside the request for it": {script: (&script{}).eviction(controller, "create", "evictionrequests", "r", "1", "1", "").
			eviction(controller, "create", "evictions", "e", "1", "2", "")},
		"one beside that of somebody else": {script: one().eviction(user, "create", "evictions", "f", "1", "3", "")},
		"two Evictions of a pod": {
			script: one().eviction(controller, "create", "evictions", "f", "1", "3", ""), want: []string{"created f while e of the same pod is running"},
		},
		"the same said twice": {
			script: one().eviction(controller, "update", "evictions/status", "e", "1", "2", "").eviction(controller, "update", "evictions/status", "e", "1", "2", ""),
			want:   []string{"has written an unchanged object"},
		},
	} {
		t.Run(name, tc.check)
	}
}

// again is a write that the server takes, and one of the same kind that it refuses.
func again(code int, answer string) *script {
	return (&script{}).eviction(controller, "update", "evictions/status", "e", "1", "7", "").
		eviction(controller, "update", "evictions/status", "e", "1", "8", "").answered(code).saying(answer)
}

// dried makes a dry run of the last request.
func dried(s *script) *script {
	s.requests[len(s.requests)-1].URI = "/apis/lifecycle.k8s.io/v1alpha1/namespaces/shop/evictions/e/status?dryRun=All"
	return s
}
