// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"fmt"
	"testing"
)

// work creates the Job of a node; done has it be collected.
func (s *script) work(name, node, maintenance string) *script {
	return s.add(controller, "create", "jobs", "slipway-system/"+name, "", ofJob(name, node, maintenance))
}

func ofJob(name, node, maintenance string) string {
	return fmt.Sprintf(
		`{"kind":"Job","metadata":{"name":%q,"namespace":"slipway-system","uid":%q,"labels":{"slipway.dev/node":%q},"annotations":{"slipway.dev/maintenance-uid":%q}}}`,
		name, name, node, maintenance)
}

func (s *script) collected(name string) *script {
	return s.add("gc", "delete", "jobs", "slipway-system/"+name, "", `{"kind":"Status"}`)
}

// held has a user, or a maintenance, hold a node; unheld ends that.
func (s *script) held(node, user, maintenance string) *script {
	return s.add(controller, "create", "nodeholds", "h", "", fmt.Sprintf(
		`{"kind":"NodeHold","metadata":{"name":"h"},"spec":{"nodeName":%q,"eventUID":"e","user":%q,"maintenance":%q}}`, node, user, maintenance))
}

// breaks has an event that breaks the glass be in a phase on a node.
func (s *script) breaks(node, phase string) *script {
	return s.add(agent, "update", "lifecycleevents/status", "fire", "", fmt.Sprintf(
		`{"kind":"LifecycleEvent","metadata":{"name":"fire","uid":"fire","annotations":{"slipway.dev/break-glass":"true"}},`+
			`"spec":{"bindingNode":%q},"status":{"claimStatus":%q,"claimedBy":{"kind":"NodeAgent","identity":"w1"}}}`, node, phase))
}

func (s *script) unheld() *script {
	return s.add(controller, "delete", "nodeholds", "h", "", `{"kind":"Status"}`)
}

func TestCheckOfWork(t *testing.T) {
	const running = `"stage":"Drain","rollout":{}`
	out := func() *script { return fleet().maintain("m", running).away("a1", "m") }
	for name, tc := range map[string]outcome{
		"once": {
			script: out().work("j", "a1", "m").back("a1"),
		},
		"twice": {
			script: out().work("j", "a1", "m").collected("j").work("k", "a1", "m").back("a1"),
			want:   []string{"a second Job for node a1 and maintenance m; the first was j"},
		},
		"twice, as it was told to try again": {
			script: out().work("j", "a1", "m").maintain("m", running+`,"retry":1`).work("k", "a1", "m").back("a1"),
		},
		"on a node that a user holds, which returns": {
			script: out().held("a1", "alice", "").work("j", "a1", "m").back("a1"),
			want:   []string{`begins a Job on node a1, which user "alice" holds`, `returns node a1, which user "alice" holds`},
		},
		"in an emergency": {
			script: out().held("a1", "alice", "").breaks("a1", "Claimed").back("a1").breaks("a1", "Succeeded"),
		},
		"in an emergency of another node": {
			script: out().held("a1", "alice", "").breaks("a2", "Claimed").back("a1").breaks("a2", "Succeeded"),
			want:   []string{`returns node a1, which user "alice" holds`},
		},
		"on a node that a user has held": {
			script: out().held("a1", "alice", "").unheld().work("j", "a1", "m").back("a1"),
		},
		"on a node that its maintenance holds": {
			script: out().held("a1", "alice", "m").work("j", "a1", "m").back("a1"),
		},
		"while a user holds another node": {
			script: out().held("a2", "alice", "").work("j", "a1", "m").back("a1"),
		},
		"on a node that is not out": {
			script: fleet().maintain("m", running).begin("a1", "", "m").work("j", "a1", "m"),
			want:   []string{"work on node a1, which maintenance m has not begun"},
		},
		"on a node that is out for another": {
			script: fleet().maintain("m", running).maintain("n", running).away("a1", "n").work("j", "a1", "m").back("a1"),
			want:   []string{"work on node a1, which maintenance m has not begun"},
		},
		"for a maintenance that there is not": {
			script: out().work("j", "a1", "other").back("a1").collected("j"),
			want:   []string{"a Job for a maintenance that there is not"},
		},
		"for no maintenance": {
			script: out().add(controller, "create", "jobs", "slipway-system/j", "",
				`{"kind":"Job","metadata":{"name":"j","namespace":"slipway-system","uid":"j","labels":{"slipway.dev/node":"a1"}}}`).back("a1").collected("j"),
			want: []string{"a Job for node a1, and for no maintenance"},
		},
		"while a pod is left": {
			script: out().pod("p", "1", "a1", "").later(20).work("j", "a1", "m").back("a1"),
			want:   []string{"work on node a1, on which pod shop/p is left"},
		},
		"while a pod of another node is there": {
			script: out().pod("p", "1", "a2", "").later(20).work("j", "a1", "m").back("a1"),
		},
		"after the last pod has gone": {
			script: out().pod("p", "1", "a1", "").later(20).gone("p", "1").work("j", "a1", "m").back("a1"),
		},
		"while a pod is left that a rule skips": {
			script: out().rule("shop/stay", "web", "Skip", "").pod("p", "1", "a1", "").later(20).work("j", "a1", "m").back("a1"),
		},
		"while a pod is left whose label skips it": {
			script: out().labelled("p", "1", "a1", "skip").later(20).work("j", "a1", "m").back("a1"),
		},
		"while a pod of a DaemonSet is left": {
			script: out().pod("p", "1", "a1", `,"ownerReferences":[{"kind":"DaemonSet","apiVersion":"apps/v1","controller":true}]`).
				later(20).work("j", "a1", "m").back("a1"),
		},
		"while a pod is left that has come a moment ago": {
			script: out().later(20).pod("p", "1", "a1", "").work("j", "a1", "m").back("a1"),
		},
		"while pods are left that may stay": {
			script: fleet().maintain("m", running+`,"drain":{"unmanagedPods":"Skip"}`).away("a1", "m").
				pod("p", "1", "a1", "").later(20).work("j", "a1", "m").back("a1"),
		},
	} {
		t.Run(name, tc.check)
	}
}

func TestCheckOfTracesOfMaintenances(t *testing.T) {
	const running, kept = `"stage":"Drain","rollout":{}`, `"slipway.dev/maintenance"`
	conditions := func(s *script, status string) *script {
		return s.add(controller, "patch", "nodes/status", "a1", "{}", fmt.Sprintf(
			`{"kind":"Node","metadata":{"name":"a1","labels":{"zone":"a"}},"status":{"conditions":[{"type":"MaintenanceInProgress","status":%q}]}}`, status))
	}
	for name, tc := range map[string]outcome{
		"nothing": {
			script: fleet().maintain("m", running).away("a1", "m").back("a1").forget("m"),
		},
		"a finalizer of an event": {
			script: fleet().maintain("m", running).begin("a1", kept, "m").forget("m"),
			want:   []string{"event drain-a1 has finalizer slipway.dev/maintenance, and its maintenances are deleted"},
		},
		"a finalizer of an event of a maintenance that goes on": {
			script: fleet().maintain("m", running).begin("a1", kept, "m"),
		},
		"a record on a node": {
			script: fleet().maintain("m", running).marked("a1", "false", "", mentioned("m Returned")).forget("m"),
			want:   []string{"node a1 has a record of maintenance m, which is deleted"},
		},
		"a record on a node of a maintenance that goes on": {
			script: fleet().maintain("m", running).marked("a1", "false", "", mentioned("m Returned")),
		},
		"a record on a node of one that somebody still keeps": {
			script: fleet().maintainKept("m", running, `"example.com/kept"`).marked("a1", "false", "", mentioned("m Returned")).forget("m"),
		},
		"a record that cannot be read": {
			script: fleet().marked("a1", "false", "", `"slipway.dev/maintenances":"m"`),
			want:   []string{"annotation slipway.dev/maintenances of node a1 cannot be read"},
		},
		"a condition of a node": {
			script: conditions(fleet().maintain("m", running), "True").forget("m"),
			want:   []string{"node a1 has condition MaintenanceInProgress, and no maintenance selects it"},
		},
		"a condition of a node that says that there is none": {
			script: conditions(fleet().maintain("m", running), "False").forget("m"),
		},
		"a condition of a node that another maintenance selects": {
			script: conditions(fleet().maintain("m", running).maintain("n", running), "True").forget("m"),
		},
		"a Job": {
			script: fleet().maintain("m", running).away("a1", "m").work("j", "a1", "m").back("a1").forget("m"),
			want:   []string{"job j of node a1 exists, and its maintenance is deleted"},
		},
		"a Job that was collected": {
			script: fleet().maintain("m", running).away("a1", "m").work("j", "a1", "m").back("a1").forget("m").collected("j"),
		},
		"a Job that was collected, and its last status is logged later": {
			script: fleet().maintain("m", running).away("a1", "m").work("j", "a1", "m").back("a1").forget("m").collected("j").
				add("job-controller", "update", "jobs/status", "slipway-system/j", "", ofJob("j", "a1", "m")),
		},
	} {
		t.Run(name, tc.check)
	}
}
