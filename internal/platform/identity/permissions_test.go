// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
)

func rule(group, resource string, verbs ...string) authorizationv1.ResourceRule {
	return authorizationv1.ResourceRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

func TestARightIsGivenByARule(t *testing.T) {
	evict := permission{verb: "impersonate-on:associated-node:create", resource: "pods/eviction"}
	named := rule("", "pods/eviction", "*")
	named.ResourceNames = []string{"a"}
	for name, tc := range map[string]struct {
		rule authorizationv1.ResourceRule
		want bool
	}{
		"that says it":                            {rule("", "pods/eviction", "get", "impersonate-on:associated-node:create"), true},
		"that gives everything":                   {rule("*", "*", "*"), true},
		"of another verb":                         {rule("", "pods/eviction", "create"), false},
		"of another group":                        {rule("policy", "pods/eviction", "*"), false},
		"of the resource, not of its subresource": {rule("", "pods", "*"), false},
		"of some objects":                         {named, false},
	} {
		t.Run(name, func(t *testing.T) {
			if given := len(notIn([]authorizationv1.ResourceRule{tc.rule}, []permission{evict})) == 0; given != tc.want {
				t.Errorf("given is %v, want %v", given, tc.want)
			}
		})
	}
}

func TestARightIsNamedForPeople(t *testing.T) {
	for want, r := range map[string]permission{
		"create pods/eviction as its node":              {verb: onAssociatedNode + "create", resource: "pods/eviction"},
		"patch nodes":                                   {verb: "patch", resource: "nodes"},
		"update lifecycleevents.slm.slipway.dev/status": {verb: "update", group: "slm.slipway.dev", resource: "lifecycleevents/status"},
		"impersonate:associated-node nodes.authentication.k8s.io": {
			verb: "impersonate:associated-node", group: "authentication.k8s.io", resource: "nodes",
		},
	} {
		if diff := cmp.Diff(want, r.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestWhatAnAgentNeedsDependsOnWhatItDoes(t *testing.T) {
	count := func(rights []permission, f func(permission) bool) (n int) {
		for _, r := range rights {
			if f(r) {
				n++
			}
		}
		return n
	}
	asNode := func(r permission) bool { return strings.HasPrefix(r.verb, "impersonate") }
	evicts := func(r permission) bool { return r.resource == "pods/eviction" }
	optional := func(r permission) bool { return r.optional }
	for name, tc := range map[string]struct {
		agent                      Agent
		impersonates               bool
		wantEvicts, wantsOptionals int
	}{
		"as its node":              {Agent{Group: "g", As: ActAsNode, Drains: true}, true, 1, 3},
		"as itself":                {Agent{Group: "g", As: ActAsSelf, Drains: true}, false, 1, 3},
		"without the drain driver": {Agent{Group: "g", As: ActAsNode}, true, 0, 0},
		"unless it says as whom":   {Agent{Group: "g"}, true, 0, 0},
		"that only announces":      {Agent{As: ActAsNode, OnlyAnnounces: true}, true, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			rights := neededBy(tc.agent)
			if got := count(rights, asNode) > 0; got != tc.impersonates {
				t.Errorf("it impersonates: %v, want %v", got, tc.impersonates)
			}
			if diff := cmp.Diff([]int{tc.wantEvicts, tc.wantsOptionals}, []int{count(rights, evicts), count(rights, optional)}); diff != "" {
				t.Errorf("evictions and optional rights (-want +got):\n%s", diff)
			}
		})
	}
}
