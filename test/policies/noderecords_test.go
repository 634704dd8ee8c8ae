// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

const nodeRecords = "node-records.yaml"

// The users that write Nodes.
var (
	kubelet, otherKubelet = caller{name: "system:node:a"}, caller{name: "system:node:b"}
	detector              = caller{name: "system:serviceaccount:kube-system:node-problem-detector", node: "a"}
	host                  = caller{name: "system:serviceaccount:slipway-system:slipway-host", node: "a"}
)

// nodeWith is Node a with a record, in its annotations or in its labels.
func nodeWith(place, record, value string) string {
	if value == "" {
		return "{metadata: {name: a, annotations: {b: c}}}"
	}
	return fmt.Sprintf("{metadata: {name: a, %s: {%s: '%s'}}}", place, record, value)
}

func TestWhoWritesTheRecordsOfANode(t *testing.T) {
	const annotations, labels = "annotations", "labels"
	policy := validator(t, nodeRecords)
	for _, record := range []struct {
		place, name                    string
		byNode, byAgent, withOverrides bool
	}{
		{annotations, "slipway.dev/api-home", true, true, false},
		{annotations, "slipway.dev/cordons", true, true, false},
		{annotations, "slipway.dev/drivers", true, true, false},
		{annotations, "slipway.dev/shutdown", true, false, false},
		{annotations, "slipway.dev/shutdown-delay", true, false, false},
		{annotations, "slipway.dev/static-pods", true, false, true},
		{annotations, "slipway.dev/static-pods-host", true, false, true},
		{labels, "slipway.dev/going-down", true, false, false},
		{annotations, "slipway.dev/shutdown-drain", false, false, false},
		{annotations, "slipway.dev/maintenances", false, false, false},
		{annotations, "slipway.dev/kept-away", false, false, false},
		{labels, "slipway.dev/kept-away", false, false, false},
		{annotations, "slipway.dev/node-lease", false, false, false},
		{annotations, "slipway.dev/held-by", false, false, false},
		{annotations, "slipway.dev/of-a-later-version", false, false, false},
	} {
		none, one, two := nodeWith(record.place, record.name, ""), nodeWith(record.place, record.name, "1"), nodeWith(record.place, record.name, "2")
		other := strings.Replace(one, "name: a", "name: a, generation: 2", 1)
		for _, writer := range []struct {
			name string
			caller
			may bool
		}{
			{"the controller", controller, true},
			{"the node", kubelet, record.byNode},
			{"another node", otherKubelet, false},
			{"an agent, as itself", agentOfA, record.byAgent},
			{"an agent of another node, as itself", agentOfB, false},
			{"an agent's token of no node", unbound, false},
			{"a daemon that writes the status of all Nodes", detector, false},
			{"slipway-host, not as its node", host, false},
			{"a user", alice, false},
			{"a user with override-budgets", alice.with("override-budgets"), record.withOverrides},
			{"a user with open-guards", alice.with("open-guards"), true},
		} {
			for change, r := range map[string]request{
				"adds it":        {writer.caller, "nodes/status", none, one},
				"changes it":     {writer.caller, "nodes", one, two},
				"removes it":     {writer.caller, "nodes", one, none},
				"empties it":     {writer.caller, "nodes/status", one, nodeWith(record.place, record.name, " ")},
				"registers with": {writer.caller, "nodes", "", one},
			} {
				got := r.refusal(t, policy, nil)
				want := ""
				if !writer.may {
					want = "metadata: " + record.name + ": Slipway writes these records"
				}
				if !strings.HasPrefix(got, want) || (got == "") != (want == "") {
					t.Errorf("%s %s %s of the %s: the policy says %q, want %q", writer.name, change, record.name, record.place, got, want)
				}
			}
			if got := (request{writer.caller, "nodes/status", one, other}).refusal(t, policy, nil); got != "" {
				t.Errorf("%s leaves %s unchanged: the policy says %q", writer.name, record.name, got)
			}
		}
	}
}

// A policy that fails to evaluate rejects what it matches. A kubelet that cannot write its Node is not Ready.
func TestAKubeletWritesItsNodeWhenOneExpressionFails(t *testing.T) {
	const (
		bare    = "{metadata: {name: a, labels: {kubernetes.io/hostname: a}, annotations: {volumes.kubernetes.io/controller-managed-attach-detach: 'true'}}}"
		managed = "{metadata: {name: a, labels: {kubernetes.io/hostname: a}, annotations: {slipway.dev/cordons: '{}', slipway.dev/drivers: '[]'}}, status: {phase: '1'}}"
	)
	writes := map[string]request{
		"registers":                          {kubelet, "nodes", "", bare},
		"reports the status of a new node":   {kubelet, "nodes/status", bare, bare},
		"reports the status of a known node": {kubelet, "nodes/status", managed, strings.Replace(managed, "'1'", "'2'", 1)},
	}
	const failing = "object.metadata.missing == 'x'"
	spec := documents[admissionregistrationv1.ValidatingAdmissionPolicy](t, nodeRecords, "ValidatingAdmissionPolicy")[0].Spec
	for i := range spec.MatchConditions {
		conditions := append([]admissionregistrationv1.MatchCondition{}, spec.MatchConditions...)
		conditions[i].Expression = failing
		broken := spec
		broken.MatchConditions = conditions
		expectAccepted(t, "condition "+conditions[i].Name, broken, writes)
	}
	for i := range spec.Validations {
		validations := append([]admissionregistrationv1.Validation{}, spec.Validations...)
		validations[i].Expression, validations[i].MessageExpression = failing, ""
		broken := spec
		broken.Validations = validations
		expectAccepted(t, fmt.Sprint("validation ", i), broken, writes)
	}
	for i := range spec.Variables {
		variables := append([]admissionregistrationv1.Variable{}, spec.Variables...)
		variables[i].Expression = "dyn(object).metadata.missing"
		broken := spec
		broken.Variables = variables
		expectAccepted(t, "variable "+variables[i].Name, broken, writes)
	}
}

func expectAccepted(t *testing.T, broken string, spec admissionregistrationv1.ValidatingAdmissionPolicySpec, writes map[string]request) {
	t.Helper()
	policy := validatorOf(t, "broken", spec)
	for name, write := range writes {
		if got := write.refusal(t, policy, nil); got != "" {
			t.Errorf("%s fails to evaluate; a kubelet %s: the policy says %q", broken, name, got)
		}
	}
}

// The API server rejects a write of a Node whose evaluation costs too much.
func TestTheLargestNodeIsWithinTheCostLimit(t *testing.T) {
	var before, after strings.Builder
	for i := range 8_000 { // about 256 KiB, the limit of annotations
		fmt.Fprintf(&before, "slipway.dev/%06d: 'aaaaaaaa', ", i)
		fmt.Fprintf(&after, "slipway.dev/%06d: 'bbbbbbbb', ", i)
	}
	node := func(annotations string) string { return "{metadata: {name: a, annotations: {" + annotations + "}}}" }
	policy := validator(t, nodeRecords)
	for name, r := range map[string]request{
		"a heartbeat":         {kubelet, "nodes/status", node(before.String()), node(before.String())},
		"all records at once": {controller, "nodes", node(before.String()), node(after.String())},
		"a user, all records": {alice.with("open-guards"), "nodes", node(before.String()), node(after.String())},
	} {
		a := r.attributes(t)
		result := policy.Validate(t.Context(), a.GetResource(), a, nil, nil, celconfig.RuntimeCELCostBudget, r.by)
		for _, decision := range result.Decisions {
			if decision.Action != validating.ActionAdmit {
				t.Errorf("%s: %v %s", name, decision.Evaluation, decision.Message)
			}
		}
	}
}

// What node-records costs the API server for each heartbeat of a kubelet. Compare it with the write of the Node, which takes
// milliseconds.
func BenchmarkAHeartbeat(b *testing.B) {
	policy := validator(b, nodeRecords)
	var labels, annotations, images strings.Builder
	for i := range 30 {
		fmt.Fprintf(&labels, "example.com/label-%d: value, ", i)
		fmt.Fprintf(&annotations, "example.com/annotation-%d: value, ", i)
		fmt.Fprintf(&images, "{names: ['registry.example.com/image-%d:1'], sizeBytes: 1}, ", i)
	}
	node := "{metadata: {name: a, labels: {" + labels.String() + "}, annotations: {" + annotations.String() +
		"slipway.dev/drivers: drain.slm.k8s.io, slipway.dev/api-home: '{}'}}, status: {images: [" + images.String() + "]}}"
	r := request{kubelet, "nodes/status", node, node}
	a := r.attributes(b)
	b.ReportAllocs()
	for b.Loop() {
		policy.Validate(b.Context(), a.GetResource(), a, nil, nil, celconfig.RuntimeCELCostBudget, r.by)
	}
}
