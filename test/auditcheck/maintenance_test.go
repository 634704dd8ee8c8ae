// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"fmt"
	"strings"
	"testing"
)

// selectsWorkers is the beginning of the spec of a maintenance of all nodes with a zone.
const selectsWorkers = `"nodeSelector":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"Exists"}]}]}`

// fleet has four nodes in two zones, and one of the control plane in each.
func fleet() *script {
	s := &script{}
	for _, n := range []string{"a1", "a2", "a3", "b1"} {
		s.worker(n, fmt.Sprintf(`"zone":%q`, n[:1]))
	}
	s.worker("a9", `"zone":"a","node-role.kubernetes.io/control-plane":""`)
	return s.worker("b9", `"zone":"b","node-role.kubernetes.io/control-plane":""`)
}

func (s *script) worker(name, labels string) *script {
	return s.add(user, "create", "nodes", name, "", fmt.Sprintf(`{"kind":"Node","metadata":{"name":%q,"labels":{%s}}}`, name, labels))
}

// maintain writes a maintenance, whose UID is its name.
func (s *script) maintain(name, spec string) *script { return s.maintainKept(name, spec, "") }

func (s *script) maintainKept(name, spec, finalizers string) *script {
	return s.add(user, "update", "nodemaintenances", name, "", fmt.Sprintf(
		`{"kind":"NodeMaintenance","metadata":{"name":%q,"uid":%q,"finalizers":[%s]},"spec":{%s,%s}}`, name, name, finalizers, selectsWorkers, spec))
}

func (s *script) forget(name string) *script {
	return s.add(controller, "delete", "nodemaintenances", name, "", "{}")
}

func mentioned(names ...string) string {
	var all []string
	for _, name := range names {
		uid, state, _ := strings.Cut(name, " ")
		all = append(all, fmt.Sprintf(`{\"uid\":\"%s\",\"name\":\"%s\",\"state\":\"%s\"}`, uid, uid, state))
	}
	return fmt.Sprintf(`"slipway.dev/maintenances":"[%s]"`, strings.Join(all, ","))
}

// begin creates the drain of a node.
func (s *script) begin(node, finalizers string, maintenances ...string) *script {
	return s.add(controller, "update", "lifecycleevents", "drain-"+node, "", fmt.Sprintf(
		`{"kind":"LifecycleEvent","metadata":{"name":"drain-%s","uid":"drain-%s","labels":{"slipway.dev/maintenance":"drain"},"annotations":{%s},"finalizers":[%s]},"spec":{"bindingNode":%q}}`,
		node, node, mentioned(maintenances...), finalizers, node))
}

// claims has the drain of a node be claimed.
func (s *script) claims(node string, maintenances ...string) *script {
	return s.add(controller, "update", "lifecycleevents/status", "drain-"+node, "", fmt.Sprintf(
		`{"kind":"LifecycleEvent","metadata":{"name":"drain-%s","uid":"drain-%s","labels":{"slipway.dev/maintenance":"drain"},"annotations":{%s}},"spec":{"bindingNode":%q},"status":{"claimStatus":"Claimed","claimedBy":{"kind":"NodeAgent","identity":"w1"}}}`,
		node, node, mentioned(maintenances...), node))
}

// cordoned has the drain of a node cordon it.
func (s *script) cordoned(node string) *script {
	return s.marked(node, "true", `\"drain-`+node+`\"`, "")
}

func (s *script) uncordon(node string) *script { return s.marked(node, "false", "", "") }

// marked writes a node: whether it takes pods, who has cordoned it, and further annotations.
func (s *script) marked(node, off, owner, annotations string) *script {
	if owner != "" {
		owner = fmt.Sprintf(`"slipway.dev/cordons":"{\"owners\":[{\"uid\":%s}]}"`, owner)
	}
	if annotations != "" && owner != "" {
		annotations = "," + annotations
	}
	labels := fmt.Sprintf(`"zone":%q`, node[:1])
	if strings.HasSuffix(node, "9") {
		labels += `,"node-role.kubernetes.io/control-plane":""`
	}
	return s.add(controller, "patch", "nodes", node, "{}", fmt.Sprintf(
		`{"kind":"Node","metadata":{"name":%q,"labels":{%s},"annotations":{%s%s}},"spec":{"unschedulable":%s}}`, node, labels, owner, annotations, off))
}

// away begins a node and cordons it.
func (s *script) away(node string, maintenances ...string) *script {
	return s.begin(node, "", maintenances...).cordoned(node)
}

// back uncordons nodes.
func (s *script) back(nodes ...string) *script {
	for _, n := range nodes {
		s.uncordon(n)
	}
	return s
}

// idles has the next requests be answered so much later.
func (s *script) idles(seconds int) *script {
	for range seconds {
		s.add(user, "patch", "nodes", "other", "", `{"kind":"Node","metadata":{"name":"other"}}`)
	}
	return s
}

func TestCheckOfRollouts(t *testing.T) {
	const two, zones, perZone = `"stage":"Drain","rollout":{"maxUnavailable":2}`,
		`"stage":"Drain","rollout":{"maxUnavailable":3,"topologyKey":"zone"}`,
		`"stage":"Drain","rollout":{"maxUnavailable":3,"topologyKey":"zone","perDomain":1}`
	const onlyPerZone = `"stage":"Drain","rollout":{"topologyKey":"zone","perDomain":2}`
	for name, tc := range map[string]outcome{
		"as many as are allowed": {
			script: fleet().maintain("m", two).away("a1", "m").away("a2", "m").back("a1").away("a3", "m").back("a2", "a3"),
		},
		"one too many": {
			script: fleet().maintain("m", two).away("a1", "m").away("a2", "m").away("a3", "m").back("a1", "a2", "a3"),
			want:   []string{"3 nodes of maintenance m are out, more than it allows: a1, a2, a3"},
		},
		"one, if nothing is said": {
			script: fleet().maintain("m", `"stage":"Drain","rollout":{}`).away("a1", "m").away("a2", "m").back("a1", "a2"),
			want:   []string{"2 nodes of maintenance m are out, more than it allows: a1, a2"},
		},
		"a percentage of those selected, rounded down": {
			script: fleet().maintain("m", `"stage":"Drain","rollout":{"maxUnavailable":"49%"}`).
				away("a1", "m").away("a2", "m").away("a3", "m").back("a1", "a2", "a3"),
			want: []string{"3 nodes of maintenance m are out"},
		},
		"a percentage of which nothing is left is one": {
			script: fleet().maintain("m", `"stage":"Drain","rollout":{"maxUnavailable":"1%"}`).away("a1", "m").back("a1"),
		},
		"without a rollout, all": {
			script: fleet().maintain("m", `"stage":"Drain"`).away("a1", "m").away("a2", "m").away("a9", "m").away("b9", "m").back("a1", "a2", "a9", "b9"),
		},
		"a limit that is lowered takes no node back": {
			script: fleet().maintain("m", two).away("a1", "m").begin("a2", "", "m").maintain("m", `"stage":"Drain","rollout":{}`).
				later(20).cordoned("a2").back("a1", "a2"),
		},
		"a limit that was lowered long ago counts": {
			script: fleet().maintain("m", two).away("a1", "m").maintain("m", `"stage":"Drain","rollout":{}`).idles(20).away("a2", "m").back("a1", "a2"),
			want:   []string{"2 nodes of maintenance m are out, more than it allows: a1, a2"},
		},
		"each maintenance has its own": {
			script: fleet().maintain("m", `"stage":"Drain","rollout":{}`).maintain("n", two).
				away("a1", "m", "n").away("a2", "n").back("a1", "a2"),
		},
		"a maintenance that joins a node that is out": {
			script: fleet().maintain("m", `"stage":"Drain","rollout":{}`).maintain("n", two).
				away("a1", "m").away("a2", "n").begin("a2", "", "n", "m").back("a1", "a2"),
			want: []string{"2 nodes of maintenance m are out"},
		},
		"the cordon of somebody else": {
			script: fleet().maintain("m", `"stage":"Drain","rollout":{}`).away("a1", "m").begin("a2", "", "m").
				add(user, "patch", "nodes", "a2", "{}", `{"kind":"Node","metadata":{"name":"a2"},"spec":{"unschedulable":true}}`).back("a1"),
		},
		"a zone after the other": {
			script: fleet().maintain("m", zones).away("a1", "m").away("a2", "m").back("a1", "a2").away("b1", "m").back("b1"),
		},
		"a second zone": {
			script: fleet().maintain("m", zones).away("a1", "m").away("b1", "m").back("a1", "b1"),
			want:   []string{"nodes of maintenance m are out of service in domains that it does not allow: a1, b1"},
		},
		"a second zone after a failure": {
			script: fleet().maintain("m", zones).away("a1", "m").marked("a1", "true", `\"drain-a1\"`, mentioned("m Failed")).
				away("b1", "m").back("a1", "b1"),
		},
		"one of each zone": {
			script: fleet().maintain("m", perZone).away("a1", "m").away("b1", "m").back("a1", "b1"),
		},
		"two of a zone": {
			script: fleet().maintain("m", perZone).away("a1", "m").away("a2", "m").back("a1", "a2"),
			want:   []string{"nodes of maintenance m are out of service in domains that it does not allow: a1, a2"},
		},
		"as many of each zone, where nothing else is said": {
			script: fleet().maintain("m", onlyPerZone).away("a1", "m").away("a2", "m").away("b1", "m").back("a1", "a2", "b1"),
		},
		"too many of a zone, where nothing else is said": {
			script: fleet().maintain("m", onlyPerZone).away("a1", "m").away("a2", "m").away("b1", "m").away("a3", "m").back("a1", "a2", "a3", "b1"),
			want:   []string{"nodes of maintenance m are out of service in domains that it does not allow: a1, a2, a3, b1"},
		},
		"one of all zones, where that is less": {
			script: fleet().maintain("m", `"stage":"Drain","rollout":{"maxUnavailable":1,"topologyKey":"zone","perDomain":2}`).
				away("a1", "m").away("b1", "m").back("a1", "b1"),
			want: []string{"2 nodes of maintenance m are out, more than it allows: a1, b1"},
		},
		"a second node of the control plane": {
			script: fleet().maintain("m", two).away("a9", "m").away("b9", "m").back("a9", "b9"),
			want:   []string{"a node of the control plane is out while a9 is"},
		},
		"a second node of the control plane, for another maintenance": {
			script: fleet().maintain("m", two).maintain("n", two).away("a9", "m").away("b9", "n").back("a9", "b9"),
			want:   []string{"a node of the control plane is out while a9 is"},
		},
		"one node of the control plane after the other": {
			script: fleet().maintain("m", two).away("a9", "m").back("a9").away("b9", "m").back("b9"),
		},
		"a node that is deleted is out no more": {
			script: fleet().maintain("m", `"stage":"Drain","rollout":{}`).away("a1", "m").add(user, "delete", "nodes", "a1", "", "{}").
				away("a2", "m").back("a2"),
		},
	} {
		t.Run(name, tc.check)
	}
}

func TestCheckOfBeginnings(t *testing.T) {
	const running = `"stage":"Drain","rollout":{"maxUnavailable":2}`
	for name, tc := range map[string]outcome{
		"paused": {
			script: fleet().maintain("m", running+`,"paused":true`).idles(20).away("a1", "m").back("a1"),
			want:   []string{"begun for maintenance m, which is paused"},
		},
		"paused a moment ago": {
			script: fleet().maintain("m", running).idles(20).maintain("m", running+`,"paused":true`).away("a1", "m").back("a1"),
		},
		"begun before it was paused": {
			script: fleet().maintain("m", running).away("a1", "m").maintain("m", running+`,"paused":true`).idles(20).begin("a1", "", "m").back("a1"),
		},
		"begun before it was paused, and cordoned after": {
			script: fleet().maintain("m", running).begin("a1", "", "m").maintain("m", running+`,"paused":true`).idles(20).cordoned("a1").back("a1"),
			want:   []string{"cordoned for maintenance m, which is paused"},
		},
		"claimed before it was paused, and cordoned after": {
			options: Options{Unfinished: []string{"drain-a1"}},
			script: fleet().maintain("m", running).begin("a1", "", "m").claims("a1", "m").
				maintain("m", running+`,"paused":true`).idles(20).cordoned("a1").back("a1"),
		},
		"claimed after it was paused": {
			options: Options{Unfinished: []string{"drain-a1"}},
			script: fleet().maintain("m", running).begin("a1", "", "m").maintain("m", running+`,"paused":true`).idles(20).
				claims("a1", "m").cordoned("a1").back("a1"),
			want: []string{"cordoned for maintenance m, which is paused"},
		},
		"cordoned a moment after it was paused": {
			script: fleet().maintain("m", running).begin("a1", "", "m").idles(20).maintain("m", running+`,"paused":true`).cordoned("a1").back("a1"),
		},
		"cordoned after its window": {
			script: fleet().maintain("m", running+`,"window":{"deadline":"2026-01-02T03:04:20Z"}`).begin("a1", "", "m").idles(40).cordoned("a1").back("a1"),
			want:   []string{"cordoned for maintenance m, after its window"},
		},
		"claimed in its window, and cordoned after it": {
			options: Options{Unfinished: []string{"drain-a1"}},
			script: fleet().maintain("m", running+`,"window":{"deadline":"2026-01-02T03:04:20Z"}`).begin("a1", "", "m").claims("a1", "m").
				idles(40).cordoned("a1").back("a1"),
		},
		"cordoned again while it is paused": {
			options: Options{Unfinished: []string{"drain-a1"}},
			script: fleet().maintain("m", running).begin("a1", "", "m").claims("a1", "m").cordoned("a1").
				maintain("m", running+`,"paused":true`).uncordon("a1").idles(20).cordoned("a1").back("a1"),
		},
		"idle": {
			script: fleet().maintain("m", `"stage":"Idle"`).idles(20).away("a1", "m").back("a1"),
			want:   []string{"begun for maintenance m, which is in stage Idle"},
		},
		"over": {
			script: fleet().maintain("m", `"stage":"Complete"`).idles(20).away("a1", "m").back("a1"),
			want:   []string{"begun for maintenance m, which is in stage Complete"},
		},
		"before its window": {
			script: fleet().maintain("m", running+`,"window":{"notBefore":"2026-01-02T05:00:00Z"}`).away("a1", "m").back("a1"),
			want:   []string{"begun for maintenance m, before its window"},
		},
		"after its window": {
			script: fleet().maintain("m", running+`,"window":{"deadline":"2026-01-02T03:00:00Z"}`).away("a1", "m").back("a1"),
			want:   []string{"begun for maintenance m, after its window"},
		},
		"in its window": {
			script: fleet().maintain("m", running+`,"window":{"notBefore":"2026-01-02T03:00:00Z","deadline":"2026-01-02T05:00:00Z"}`).away("a1", "m").back("a1"),
		},
		"for a maintenance that is gone": {
			script: fleet().maintain("m", running).forget("m").away("a1", "m").back("a1"),
			want:   []string{"begun for maintenance m, which there is not"},
		},
		"an annotation that cannot be read": {
			script: fleet().maintain("m", running).add(controller, "update", "lifecycleevents", "e", "",
				`{"kind":"LifecycleEvent","metadata":{"name":"e","uid":"e","annotations":{"slipway.dev/maintenances":"m"}},"spec":{"bindingNode":"a1"}}`),
			want: []string{"annotation slipway.dev/maintenances cannot be read"},
		},
	} {
		t.Run(name, tc.check)
	}
}
