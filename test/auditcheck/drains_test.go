// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"fmt"
	"testing"
)

// asks is a claimed event, at second 1 of a script, and pod a on its node.
func asks(parameters string) *script {
	return (&script{}).pod("a", "1", "w1", "").asked(parameters)
}

// asked writes a claimed event with other parameters.
func (s *script) asked(parameters string) *script {
	return s.add(agent, "update", "lifecycleevents", "drain", "", fmt.Sprintf(
		`{"kind":"LifecycleEvent","metadata":{"name":"drain","uid":"drain","finalizers":[%s]},"spec":{"bindingNode":"w1","parameters":%s},"status":{"claimStatus":"Claimed","claimedBy":{"kind":"NodeAgent","identity":"w1"}}}`,
		protected, parameters))
}

// passes lets seconds pass.
func (s *script) passes(seconds int) *script {
	for range seconds {
		s.add(user, "create", "pods", "shop/nothing", "", "{}")
	}
	return s
}

func (s *script) deletes(who, name, options string) *script {
	return s.add(who, "delete", "pods", "shop/"+name, options, `{"kind":"Pod","metadata":{"name":"a","namespace":"shop","deletionTimestamp":"x","deletionGracePeriodSeconds":30}}`)
}

const (
	byUID  = `{"preconditions":{"uid":"1"}}`
	kill   = `{"gracePeriodSeconds":1,"preconditions":{"uid":"1"}}`
	ladder = `{"escalation":{"deleteAfter":"10s","killAfter":"20s"}}`
)

func TestCheckOfTheEscalation(t *testing.T) {
	for name, tc := range map[string]outcome{
		"a deletion that is asked for, at its time": {
			script: asks(ladder).passes(9).deletes(agent, "a", byUID).end("drain"),
		},
		"a deletion too soon": {
			script: asks(ladder).passes(7).deletes(agent, "a", byUID).end("drain"),
			want:   []string{"a pod was deleted, which no budget can refuse"},
		},
		"a deletion that nobody asks for": {
			script: asks(`{"escalation":{"killAfter":"1s"}}`).passes(9).deletes(agent, "a", byUID).end("drain"),
			want:   []string{"a pod was deleted, which no budget can refuse"},
		},
		"a deletion that is asked for on another node": {
			script: asks(ladder).pod("b", "2", "w2", "").passes(9).deletes(agent, "b", `{"preconditions":{"uid":"2"}}`).end("drain"),
			want:   []string{"a pod was deleted, which no budget can refuse"},
		},
		"a deletion after the end": {
			script: asks(ladder).passes(9).end("drain").deletes(agent, "a", byUID),
			want:   []string{"a pod was deleted, which no budget can refuse"},
		},
		"a deletion without the UID": {
			script: asks(ladder).passes(9).deletes(agent, "a", `{}`).end("drain"),
			want:   []string{"evicted without the pod's UID"},
		},
		"a deletion by the wrong UID": {
			script: asks(ladder).passes(9).deletes(agent, "a", `{"preconditions":{"uid":"9"}}`).end("drain"),
			want:   []string{"by UID 9"},
		},
		"a deletion that leaves no time": {
			script: asks(ladder).passes(9).deletes(agent, "a", `{"gracePeriodSeconds":0,"preconditions":{"uid":"1"}}`).end("drain"),
			want:   []string{"without a grace period"},
		},
		"a deletion of all": {
			script: asks(ladder).passes(9).add(agent, "deletecollection", "pods", "shop/", "", "{}").end("drain"),
			want:   []string{"that the log does not know"},
		},
		"a deletion of what no target covers": {
			script: asks(`{"targets":[{"podType":"DaemonSet"}],"escalation":{"deleteAfter":"10s"}}`).passes(9).deletes(agent, "a", byUID).end("drain"),
			want:   []string{"no target covers"},
		},
		"a pod that is killed at its time": {
			script: asks(ladder).evict(agent, "a", "1").passes(19).deletes(agent, "a", kill).end("drain"),
		},
		"a pod that is killed too soon": {
			script: asks(ladder).evict(agent, "a", "1").passes(17).deletes(agent, "a", kill).end("drain"),
			want:   []string{"a pod was killed"},
		},
		"a pod that is killed, which nobody asks for": {
			script: asks(`{"escalation":{"deleteAfter":"1s"}}`).evict(agent, "a", "1").passes(30).deletes(agent, "a", kill).end("drain"),
			want:   []string{"a pod was killed"},
		},
		"a deletion that is not asked for any more": {
			script: asks(ladder).passes(9).asked(`{}`).passes(6).deletes(agent, "a", byUID).end("drain"),
			want:   []string{"a pod was deleted, which no budget can refuse"},
		},
		"a deletion before it could be heard that it is not asked for": {
			script: asks(ladder).passes(9).asked(`{}`).passes(2).deletes(agent, "a", byUID).end("drain"),
		},
		"a deletion by somebody else": {
			script: asks(`{}`).deletes(user, "a", `{}`).end("drain"),
		},
		"a dry run": {
			script: asks(`{}`).deletes(agent, "a", `{"dryRun":["All"]}`).end("drain"),
		},
	} {
		t.Run(name, tc.check)
	}
}

func TestCheckOfTheTargets(t *testing.T) {
	const daemon = `,"ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","controller":true}]`
	for name, tc := range map[string]outcome{
		"a DaemonSet's pod that is a target": {
			script: asks(`{"targets":[{"podType":"DaemonSet"}]}`).pod("b", "2", "w1", daemon).evict(agent, "b", "2").end("drain"),
		},
		"a DaemonSet's pod with a priority above the target's": {
			script: asks(`{"targets":[{"podType":"DaemonSet","podPriority":-1}]}`).pod("b", "2", "w1", daemon).evict(agent, "b", "2").end("drain"),
			want:   []string{"evicted a pod of a DaemonSet"},
		},
		"a DaemonSet's pod where others are the target": {
			script: asks(`{"targets":[{"podType":"Default"}]}`).pod("b", "2", "w1", daemon).evict(agent, "b", "2").end("drain"),
			want:   []string{"evicted a pod of a DaemonSet"},
		},
		"a DaemonSet's pod that has ended": {
			script: asks(`{}`).add(user, "create", "pods", "shop/b", "",
				`{"kind":"Pod","metadata":{"name":"b","namespace":"shop","uid":"2"`+daemon+`},"spec":{"nodeName":"w1"},"status":{"phase":"Failed"}}`).
				evict(agent, "b", "2").end("drain"),
		},
		"a pod where those of DaemonSets are the target": {
			script: asks(`{"targets":[{"podType":"DaemonSet"}]}`).evict(agent, "a", "1").end("drain"),
			want:   []string{"no target covers"},
		},
		"a pod with other labels than the target's": {
			script: asks(`{"targets":[{"podType":"Default","podSelector":{"matchLabels":{"app":"db"}}}]}`).evict(agent, "a", "1").end("drain"),
			want:   []string{"no target covers"},
		},
		"a pod that one of two targets covers": {
			script: asks(`{"targets":[{"podType":"DaemonSet"},{"podType":"Default","podSelector":{"matchExpressions":[{"key":"app","operator":"In","values":["web"]}]}}]}`).
				evict(agent, "a", "1").end("drain"),
		},
	} {
		t.Run(name, tc.check)
	}
}
