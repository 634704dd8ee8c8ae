// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

func TestWhoHoldsBackWhatNeedsALease(t *testing.T) {
	policy := newMutator(t, "leases/gate.yaml")
	const lease = `{"name":"slipway.dev/lease"}`
	for name, tc := range map[string]struct{ now, want string }{
		"a drain":                 {event("", "", "Pending"), `{"bindingNode":"a","gates":[` + lease + `],"transitionName":"drain"}`},
		"one with gates":          {event("", ", gates: [{name: slipway.dev/guards}]", "Pending"), `{"bindingNode":"a","gates":[{"name":"slipway.dev/guards"},` + lease + `],"transitionName":"drain"}`},
		"one with this gate":      {event("", ", gates: [{name: slipway.dev/lease}]", "Pending"), `{"bindingNode":"a","gates":[` + lease + `],"transitionName":"drain"}`},
		"the way back":            {"{metadata: {}, spec: {transitionName: drain.slm.k8s.io-uncordon}}", `{"transitionName":"drain.slm.k8s.io-uncordon"}`},
		"one that says nothing":   {"{metadata: {}}", `null`},
		"one without transitions": {"{metadata: {}, spec: {bindingNode: a}}", `{"bindingNode":"a","gates":[` + lease + `]}`},
	} {
		if got := (request{alice, events, "", tc.now}).specAfter(t, policy); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

func TestWhoOpensTheGateOfLeases(t *testing.T) {
	const refusal = "spec.gates: slipway.dev/lease is removed by the controller"
	gated, open := event("", ", gates: [{name: slipway.dev/lease}, {name: b}]", "Pending"), event("", ", gates: [{name: b}]", "Pending")
	going := event(", deletionTimestamp: '2026-01-02T03:04:05Z'", ", gates: [{name: slipway.dev/lease}]", "Pending")
	refusals(t, "leases/gate.yaml", map[string]refused{
		"who asked":               {request{alice, events, gated, open}, refusal},
		"all gates at once":       {request{alice, events, gated, event("", "", "Pending")}, refusal},
		"an agent":                {request{agentOfA, events, gated, open}, refusal},
		"with another right":      {request{alice.with("override-budgets"), events, gated, open}, refusal},
		"with the right":          {request{alice.with("open-guards"), events, gated, open}, ""},
		"the controller":          {request{controller.with("open-guards"), events, gated, open}, ""},
		"another gate":            {request{alice, events, gated, event("", ", gates: [{name: slipway.dev/lease}]", "Pending")}, ""},
		"of one that goes away":   {request{alice, events, going, event("", "", "Pending")}, ""},
		"where there was no gate": {request{alice, events, open, event("", "", "Pending")}, ""},
	})
}

// leased is a Node whose lease somebody has, by the annotation.
func leased(holder, spec string) string {
	if holder == "" {
		return "{metadata: {name: a}, spec: {" + spec + "}}"
	}
	return `{metadata: {name: a, annotations: {slipway.dev/node-lease: '{"holder":"` + holder + `","purpose":"p \"q\"","since":"2026-01-02T03:04:05Z"}'}}, spec: {` + spec + "}}"
}

func TestOnlyTheControllerHoldsLeasesAsSlipway(t *testing.T) {
	const refusal, leases = "spec.holderIdentity: slipway is the name of Slipway's controller", "leases"
	lease := func(holder, more string) string {
		return "{metadata: {name: a}, spec: {holderIdentity: " + holder + more + "}}"
	}
	refusals(t, "leases/writer.yaml", map[string]refused{
		"a user":                       {request{alice, leases, lease(`""`, ""), lease("slipway", "")}, refusal},
		"a user, with a new Lease":     {request{alice, leases, "", lease("slipway", "")}, refusal},
		"a user renews it":             {request{alice, leases, lease("slipway", ""), lease("slipway", ", leaseDurationSeconds: 9")}, refusal},
		"a user labels it":             {request{alice, leases, lease("slipway", ""), strings.Replace(lease("slipway", ""), "name: a", "name: a, labels: {x: y}", 1)}, ""},
		"a user releases it":           {request{alice, leases, lease("slipway", ""), lease(`""`, "")}, ""},
		"a user, with a name of hers":  {request{alice, leases, lease(`""`, ""), lease("slipway-alice", "")}, ""},
		"the controller":               {request{controller, leases, lease(`""`, ""), lease("slipway", "")}, ""},
		"the controller, from nothing": {request{controller, leases, "", lease("slipway", "")}, ""},
	})
}

func TestWhoWorksOnANodeThatSomebodyElseHasLeased(t *testing.T) {
	const refusal, nodes, out = "metadata.annotations: somebody else works on node a and holds its lease: {\"holder\":", "nodes", "unschedulable: true"
	kubelet, cloud := caller{name: "system:node:a"}, caller{name: "system:serviceaccount:kube-system:cloud-node-lifecycle-controller"}
	tool := caller{name: "system:serviceaccount:upgrades:upgrader"}
	refusals(t, "leases/others.yaml", map[string]refused{
		"cordon":                              {request{alice, nodes, leased("upgrade", ""), leased("upgrade", out)}, refusal},
		"uncordon":                            {request{alice, nodes, leased("upgrade", out), leased("upgrade", "")}, refusal},
		"uncordon what Slipway drains":        {request{alice, nodes, leased("slipway", out), leased("slipway", "unschedulable: false")}, refusal},
		"take the annotation away with it":    {request{alice, nodes, leased("upgrade", out), leased("", "")}, refusal},
		"delete":                              {request{alice, nodes, leased("upgrade", ""), ""}, refusal},
		"taint":                               {request{alice, nodes, leased("upgrade", ""), leased("upgrade", "taints: [{key: x, effect: NoExecute}]")}, ""},
		"where nobody has it":                 {request{alice, nodes, leased("", ""), leased("", out)}, ""},
		"delete where nobody has it":          {request{alice, nodes, leased("", ""), ""}, ""},
		"her own":                             {request{alice, nodes, leased("alice", ""), leased("alice", out)}, ""},
		"her own, as an administrator":        {request{alice, nodes, leased("kubeadmin-alice", out), ""}, ""},
		"another's with a name like hers":     {request{alice, nodes, leased(`alice\"x`, ""), leased("", out)}, refusal},
		"another's whose name begins so":      {request{alice, nodes, leased("alice2", ""), leased("", out)}, refusal},
		"her own, by the user":                {request{alice, nodes, leased(`x","user":"alice`, ""), leased(`x","user":"alice`, out)}, ""},
		"another's under her name":            {request{alice, nodes, leased(`alice","user":"eve`, ""), leased(`alice","user":"eve`, out)}, refusal},
		"another's, who writes her as user":   {request{alice, nodes, leased(`x\",\"user\":\"alice","user":"eve`, ""), leased("", out)}, refusal},
		"a tool's own":                        {request{tool, nodes, leased(tool.name, ""), leased(tool.name, out)}, ""},
		"a tool, another's":                   {request{tool, nodes, leased("upgrade", ""), leased("upgrade", out)}, refusal},
		"the agent, as the node":              {request{kubelet, nodes, leased("upgrade", out), leased("upgrade", "")}, ""},
		"the controller":                      {request{controller, nodes, leased("upgrade", out), leased("upgrade", "")}, ""},
		"the agent, as itself":                {request{agentOfA, nodes, leased("upgrade", out), leased("upgrade", "")}, ""},
		"the machine does not exist any more": {request{cloud, nodes, leased("upgrade", ""), ""}, ""},
	})
	binding := documents[admissionregistrationv1.ValidatingAdmissionPolicyBinding](t, "leases/others.yaml", "ValidatingAdmissionPolicyBinding")[0]
	if actions := binding.Spec.ValidationActions; len(actions) != 1 || actions[0] != admissionregistrationv1.Warn {
		t.Errorf("unless told otherwise, it does %v", actions)
	}
}
