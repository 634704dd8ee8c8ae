// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"testing"
)

func TestCheck(t *testing.T) {
	for name, tc := range map[string]outcome{
		"a drain that keeps every promise": {
			script: begun().node(`"slipway.dev/cordons":"{}"`).evict(agent, "a", "1").end("drain").node(""),
		},
		"a budget that allows none": {
			script: begun().budget(0).evict(agent, "a", "1").end("drain"),
			want:   []string{"budget shop/web allowed 0 disruptions"},
		},
		"a second eviction under a budget that allows one": {
			script: begun().pod("b", "2", "w1", "").evict(agent, "a", "1").evict(agent, "b", "2").end("drain"),
			want:   []string{"create pods/eviction shop/b"},
		},
		"a second eviction after the budget has counted the first": {
			script: begun().pod("b", "2", "w1", "").evict(agent, "a", "1").budget(1).evict(agent, "b", "2").end("drain"),
		},
		"an eviction by somebody else uses the budget as well": {
			script: begun().pod("b", "2", "w1", "").evict(user, "b", "2").evict(agent, "a", "1").end("drain"),
			want:   []string{"create pods/eviction shop/a"},
		},
		"a pod that is finished needs no budget": {
			script: begun().budget(0).add("kwok", "patch", "pods/status", "shop/a", "",
				`{"kind":"Pod","metadata":{"name":"a","namespace":"shop","uid":"1","labels":{"app":"web"}},"spec":{"nodeName":"w1"},"status":{"phase":"Succeeded"}}`).
				evict(agent, "a", "1").end("drain"),
		},
		"no UID":        {script: begun().evict(agent, "a", "").end("drain"), want: []string{"without the pod's UID"}},
		"the wrong UID": {script: begun().evict(agent, "a", "9").end("drain"), want: []string{"evicted by UID 9"}},
		"a pod of another node": {
			script: begun().pod("b", "2", "w2", "").evict(agent, "b", "2").end("drain"),
			want:   []string{`from node "w2"`},
		},
		"an eviction after the end": {
			script: begun().end("drain").evict(agent, "a", "1"),
			want:   []string{`from node "w1", on which no drain was in progress`},
		},
		"a pod of a DaemonSet": {
			script: begun().pod("b", "2", "w1", `,"ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","controller":true}]`).evict(agent, "b", "2").end("drain"),
			want:   []string{"a pod of a DaemonSet"},
		},
		"a pod of a DaemonSet of another kind": {
			script: begun().pod("b", "2", "w1", `,"ownerReferences":[{"apiVersion":"example.com/v1","kind":"DaemonSet","controller":true}]`).evict(agent, "b", "2").end("drain"),
		},
		"a mirror pod": {
			script: begun().pod("b", "2", "w1", `,"annotations":{"kubernetes.io/config.mirror":"x"}`).evict(agent, "b", "2").end("drain"),
			want:   []string{"a mirror pod"},
		},
		"a pod whose binding is answered after its eviction": {
			script: begun().pod("b", "2", "", "").evict(agent, "b", "2").as("system:node:w1").
				add("system:kube-scheduler", "create", "pods/binding", "shop/b", `{"target":{"name":"w1"}}`, "{}").slow(1).end("drain"),
		},
		"a pod whose binding begins before its creation is answered, and is answered after its eviction": {
			script: begun().pod("b", "2", "", "").evict(agent, "b", "2").as("system:node:w1").
				add("system:kube-scheduler", "create", "pods/binding", "shop/b", `{"target":{"name":"w1"}}`, "{}").slow(2).end("drain"),
		},
		"a pod that is bound after its eviction": {
			script: begun().pod("b", "2", "", "").evict(agent, "b", "2").as("system:node:w1").
				add("system:kube-scheduler", "create", "pods/binding", "shop/b", `{"target":{"name":"w1"}}`, "{}").end("drain"),
			want: []string{`evicted from node "" as node "w1"`, "no drain was in progress"},
		},
		"a pod that the log does not know": {
			script: begun().evict(agent, "z", "1").end("drain"),
			want:   []string{"the log does not know the pod"},
		},
		"a pod that was gone before its eviction": {
			script: begun().gone("a", "1").evict(agent, "a", "1").end("drain"),
			want:   []string{"the log does not know the pod"},
		},
		"a pod that is gone before its eviction is answered": {
			script: begun().gone("a", "1").evict(agent, "a", "1").slow(1).end("drain"),
		},
		"a pod that has a successor before its eviction is answered": {
			script: begun().gone("a", "1").pod("a", "2", "w2", "").evict(agent, "a", "1").slow(2).end("drain"),
		},
		"the successor of a pod that is gone": {
			script: begun().gone("a", "1").pod("a", "2", "w2", "").evict(agent, "a", "1").end("drain"),
			want:   []string{"evicted by UID 1; the pod's is 2", "no drain was in progress"},
		},
		"an eviction as another node": {
			script: begun().evict(agent, "a", "1").as("system:node:w2").end("drain"),
			want:   []string{`evicted from node "w1" as node "w2"`},
		},
		"an eviction on a node that is not checked": {
			script:  begun().budget(0).evict(agent, "a", "").as("system:node:w1").end("drain"),
			options: Options{Nodes: []string{"w2"}},
		},
		"a drain that no event asks for": {
			script:  (&script{}).pod("a", "1", "w1", "").pod("b", "2", "w2", "").evict(agent, "a", "1").evict(agent, "b", "2"),
			options: Options{Drains: []Drain{{Node: "w1"}}},
			want:    []string{`from node "w2", on which no drain was in progress`},
		},
		"a pod that was deleted": {
			script: begun().add(agent, "delete", "pods", "shop/a", "", "{}").end("drain"),
			want:   []string{"a pod was deleted"},
		},
		"a pod that was gone before it was deleted": {
			script: begun().gone("a", "1").add(agent, "delete", "pods", "shop/a", "", "{}").as("system:node:w1").end("drain"),
			want:   []string{"the log does not know"},
		},
		"two claims at once": {
			script: begun().event("other", "Pending", "").event("other", "Claimed", "").end("drain").end("other"),
			want:   []string{"claimed while drain was Claimed"},
		},
		"two claims of two claimers": {
			script: begun().event("other", "Pending", "").eventOf("Controller", "other", "Claimed", "").end("drain").
				eventOf("Controller", "other", "Claimed", protected).end("other"),
		},
		"two claimers at work": {
			script: begun().event("other", "Pending", "").eventOf("Controller", "other", "Claimed", protected).end("drain").end("other"),
			want:   []string{"began while drain was in work"},
		},
		"a claim before the one before it is wound up": {
			script: begun().event("other", "Pending", "").event("drain", "Failed", protected).event("other", "Claimed", "").
				event("drain", "Failed", "").end("other"),
			want: []string{"claimed while drain was Failed"},
		},
		"two ends": {
			script: begun().event("drain", "Failed", protected).end("drain"),
			want:   []string{"went from Failed to Succeeded"},
		},
		"a phase is skipped": {
			script: (&script{}).event("drain", "Pending", "").end("drain"),
			want:   []string{"went from Pending to Succeeded"},
		},
		"gone without an end": {
			script: begun().event("drain", "Claimed", "").add(agent, "delete", "lifecycleevents", "drain", "", "{}"),
			want:   []string{"gone without a terminal phase"},
		},
		"a finalizer is left": {
			script: begun().event("drain", "Failed", protected),
			want:   []string{"at the end: event drain is Failed and has finalizers"},
		},
		"an event that may be left": {
			script: begun(), options: Options{Unfinished: []string{"drain"}},
		},
		"a claim of somebody else's": {
			script: begun().add(user, "update", "lifecycleevents/status", "other", "", `{"kind":"LifecycleEvent","metadata":{"name":"other","uid":"other"},"spec":{"bindingNode":"w1"},"status":{"claimStatus":"Claimed"}}`).end("drain"),
			want:   []string{"at the end: event other is Claimed"},
		},
		"an event that another controller has claimed is ended by Slipway": {
			script: (&script{}).add(user, "update", "lifecycleevents/status", "other", "", `{"kind":"LifecycleEvent","metadata":{"name":"other","uid":"other"},"spec":{"bindingNode":"w1"},"status":{"claimStatus":"Claimed"}}`).end("other"),
			want:   []string{"writes the event of another claimer"},
		},
		"a person has released the claim of another controller": {
			script: (&script{}).add(user, "update", "lifecycleevents/status", "other", "", `{"kind":"LifecycleEvent","metadata":{"name":"other","uid":"other","annotations":{"slipway.dev/release-claim":"yes"}},"spec":{"bindingNode":"w1"},"status":{"claimStatus":"Claimed"}}`).end("other"),
		},
		"events of one name in two groups": {
			script: begun().event("drain", "Pending", "").in("slm.slipway.dev").end("drain"),
		},
		"a cordon is left": {
			script: begun().node(`"slipway.dev/cordons":"{}"`).end("drain"),
			want:   []string{"at the end: node w1 is cordoned by us"},
		},
		"a cordon that may be left": {
			script: begun().node(`"slipway.dev/cordons":"{}"`).end("drain"), options: Options{Cordoned: []string{"w1"}},
		},
	} {
		t.Run(name, tc.check)
	}
}

func TestRefusedRequestsBreakNothing(t *testing.T) {
	s := begun().budget(0).evict(agent, "a", "1")
	s.requests[len(s.requests)-1].Code = 429
	if got := Check(s.end("drain").requests, Options{}); got != nil {
		t.Errorf("violations: %v", got)
	}
}
