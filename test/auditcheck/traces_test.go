// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"fmt"
	"testing"
)

// marks writes a node with a spec.
func (s *script) marks(who, body, spec string) *script {
	return s.add(who, "patch", "nodes", "w1", body, fmt.Sprintf(`{"kind":"Node","metadata":{"name":"w1"},"spec":{%s}}`, spec))
}

func TestCheckOfTraces(t *testing.T) {
	const off = `"unschedulable":true`
	for name, tc := range map[string]outcome{
		"a cordon of which nothing tells": {
			script: begun().marks(agent, "{}", off).end("drain"),
			want:   []string{"node w1 is cordoned by us, without a record on it"},
		},
		"a cordon that others have touched since": {
			script: begun().marks(agent, "{}", off).marks(user, "{}", off).end("drain"),
			want:   []string{"node w1 is cordoned by us, without a record on it"},
		},
		"a cordon that is expected": {
			script: begun().marks(agent, "{}", off).end("drain"), options: Options{Cordoned: []string{"w1"}},
		},
		"a cordon that is expected is not there": {
			script: begun().marks(agent, "{}", "").end("drain"), options: Options{Cordoned: []string{"w1"}},
			want: []string{"node w1 is not cordoned by us, although"},
		},
		"a cordon of others": {
			script: begun().marks(user, "{}", off).marks(agent, "{}", off).end("drain"),
		},
		"a cordon of others after ours was undone": {
			script: begun().marks(agent, "{}", off).marks(agent, "{}", "").marks(user, "{}", off).end("drain"),
		},
		"a taint of ours": {
			script: begun().marks(user, "{}", `"taints":[{"key":"slipway.dev/draining"}]`).end("drain"),
			want:   []string{"node w1 has taint slipway.dev/draining"},
		},
		"a node keeps pods of DaemonSets away": {
			script: begun().node(`"slipway.dev/kept-away":"1000"`).end("drain"),
			want:   []string{`node w1 keeps pods of DaemonSets away: "1000"`},
		},
		"a node kept them away": {
			script: begun().node(`"slipway.dev/kept-away":"1000"`).node("").end("drain"),
		},
		"the taint of a cordon, which is the control plane's": {
			script: begun().marks(user, "{}", `"taints":[{"key":"node.kubernetes.io/unschedulable"}]`).end("drain"),
		},
		"a taint that we write": {
			script: begun().marks(agent, `{"spec":{"taints":[{"key":"k"}]}}`, "").end("drain"),
			want:   []string{`writes taints: [{"key":"k"}]`},
		},
		"an older version that is answered last": {
			script: begun().version("7", "").version("6", off).end("drain"),
		},
		"a node that is gone": {
			script: begun().marks(agent, "{}", off).end("drain").add(user, "delete", "nodes", "w1", "", "{}"),
		},
	} {
		t.Run(name, tc.check)
	}
}

func TestCheckOfCancellations(t *testing.T) {
	const ours = `"slipway.dev/cordons":"{\"owners\":[{\"uid\":\"drain\"}]}"`
	const others = `"slipway.dev/cordons":"{\"owners\":[{\"uid\":\"other\"}]}"`
	for name, tc := range map[string]outcome{
		"the cordon is undone before the event is wound up": {
			script: begun().node(ours).ended("Canceled", protected).node("").ended("Canceled", ""),
		},
		"the cordon of another event stays": {
			script:  begun().node(others).ended("Canceled", protected).ended("Canceled", ""),
			options: Options{Cordoned: []string{"w1"}},
		},
		"the cordon is undone too late": {
			script: begun().node(ours).ended("Canceled", protected).ended("Canceled", "").node(""),
			want:   []string{"its cordon is left"},
		},
		"the cordon stays after a failure": {
			script:  begun().node(ours).ended("DriverFailed", protected).ended("DriverFailed", ""),
			options: Options{Cordoned: []string{"w1"}},
		},
	} {
		t.Run(name, tc.check)
	}
}

// ended writes that the event has failed.
func (s *script) ended(reason, finalizers string) *script {
	return s.add(agent, "patch", "lifecycleevents", "drain", "", fmt.Sprintf(
		`{"kind":"LifecycleEvent","metadata":{"name":"drain","uid":"drain","finalizers":[%s]},"spec":{"bindingNode":"w1"},`+
			`"status":{"claimStatus":"Failed","conditions":[{"type":"Finished","reason":%q}]}}`, finalizers, reason))
}

func (s *script) version(resourceVersion, spec string) *script {
	return s.versionBy(agent, resourceVersion, spec)
}

// versionBy writes a version of a node.
func (s *script) versionBy(who, resourceVersion, spec string) *script {
	return s.add(who, "patch", "nodes", "w1", "{}", fmt.Sprintf(
		`{"kind":"Node","metadata":{"name":"w1","uid":"w1","resourceVersion":%q},"spec":{%s}}`, resourceVersion, spec))
}
