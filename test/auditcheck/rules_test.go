// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"fmt"
	"testing"
)

// rule writes a rule of a namespace for the pods of an app.
func (s *script) rule(name, app, behavior, more string) *script {
	return s.add(user, "create", "drainrules", name, "", fmt.Sprintf(
		`{"kind":"DrainRule","metadata":{"name":%q,"namespace":%q},"spec":{"podSelector":{"matchLabels":{"app":%q}},"behavior":%q%s}}`,
		name[5:], name[:4], app, behavior, more))
}

// labelled is a pod that chooses its behavior.
func (s *script) labelled(name, uid, node, behavior string) *script {
	return s.pod(name, uid, node, fmt.Sprintf(`,"labels":{"app":"web","cluster.x-k8s.io/drain":%q}`, behavior))
}

func TestCheckOfTheRules(t *testing.T) {
	const skips = "evicted a pod that rule shop/stay skips"
	claim := func(s *script) *script { return s.event("drain", "Claimed", protected) }
	ruled := func() *script { return (&script{}).pod("a", "1", "w1", "").rule("shop/stay", "web", "Skip", "") }
	for name, tc := range map[string]outcome{
		"a pod that a rule skips": {
			script: claim(ruled()).evict(agent, "a", "1").end("drain"), want: []string{skips},
		},
		"a pod that a rule skips is deleted": {
			script: ruled().asked(ladder).passes(9).deletes(agent, "a", byUID).end("drain"), want: []string{skips},
		},
		"a rule for other pods": {
			script: claim((&script{}).pod("a", "1", "w1", "").rule("shop/stay", "db", "Skip", "")).evict(agent, "a", "1").end("drain"),
		},
		"a rule of another namespace": {
			script: claim((&script{}).pod("a", "1", "w1", "").rule("bank/stay", "web", "Skip", "")).evict(agent, "a", "1").end("drain"),
		},
		"a rule of the cluster is not judged": {
			script: claim((&script{}).pod("a", "1", "w1", "").rule("shop/stay", "web", "Skip", `,"namespaceSelector":{}`)).evict(agent, "a", "1").end("drain"),
		},
		"a rule for some nodes is not judged": {
			script: claim((&script{}).pod("a", "1", "w1", "").rule("shop/stay", "web", "Skip", `,"nodeSelector":{}`)).evict(agent, "a", "1").end("drain"),
		},
		"a pod with a behavior of its own follows no rule": {
			script: claim((&script{}).labelled("a", "1", "w1", "wait-completed").rule("shop/stay", "web", "Skip", "")).evict(agent, "a", "1").end("drain"),
		},
		"a rule that evicts": {
			script: claim((&script{}).pod("a", "1", "w1", "").rule("shop/stay", "web", "Evict", "")).evict(agent, "a", "1").end("drain"),
		},
		"of two rules, the first by name counts": {
			script: claim(ruled().rule("shop/leave", "web", "Evict", "")).evict(agent, "a", "1").end("drain"),
		},
		"of two rules, the second by name does not": {
			script: claim(ruled().rule("shop/sweep", "web", "Evict", "")).evict(agent, "a", "1").end("drain"), want: []string{skips},
		},
		"a rule that is gone": {
			script: claim(ruled()).add(user, "delete", "drainrules", "shop/stay", "", "{}").evict(agent, "a", "1").end("drain"),
		},
		"all rules are gone": {
			script: claim(ruled()).add(user, "deletecollection", "drainrules", "shop/", "", "{}").evict(agent, "a", "1").end("drain"),
		},
		"a rule of which the drain cannot have heard": {
			script: claim((&script{}).pod("a", "1", "w1", "")).rule("shop/stay", "web", "Skip", "").passes(3).evict(agent, "a", "1").end("drain"),
		},
		"a rule of which the drain has had time to hear": {
			script: claim((&script{}).pod("a", "1", "w1", "")).rule("shop/stay", "web", "Skip", "").passes(6).evict(agent, "a", "1").end("drain"),
			want:   []string{skips},
		},
	} {
		t.Run(name, tc.check)
	}
}
