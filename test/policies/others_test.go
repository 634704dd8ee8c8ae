// SPDX-License-Identifier: Apache-2.0

package policies

import "testing"

func TestWhoWritesWhichTransitions(t *testing.T) {
	const (
		transitions = "lifecycletransitions"
		ofA         = "{metadata: {name: any}, spec: {nodeName: a}}"
		ofB         = "{metadata: {name: any}, spec: {nodeName: b}}"
		ofAll       = "{metadata: {name: any}, spec: {allNodes: true}}"
		refusal     = "spec.nodeName must be the node that the caller's token names"
	)
	everywhere := driverOnA.with("publish-everywhere")
	refusals(t, "transitions.yaml", map[string]refused{
		"an agent, of its node":             {request{agentOfA, transitions, "", ofA}, ""},
		"an agent, of another":              {request{agentOfA, transitions, "", ofB}, refusal},
		"an agent, of all":                  {request{agentOfA, transitions, "", ofAll}, refusal},
		"an agent of no node":               {request{unbound, transitions, "", ofA}, refusal},
		"an agent deletes one of its node":  {request{agentOfA, transitions, ofA, ""}, ""},
		"an agent deletes one of another":   {request{agentOfA, transitions, ofB, ""}, refusal},
		"an agent deletes one of all":       {request{agentOfA, transitions, ofAll, ""}, refusal},
		"a driver, of its node":             {request{driverOnA, transitions, "", ofA}, ""},
		"a driver, of all":                  {request{driverOnA, transitions, "", ofAll}, refusal},
		"a driver changes one of all":       {request{driverOnA, transitions, ofAll, ofAll}, refusal},
		"a pod with the right, of all":      {request{everywhere, transitions, "", ofAll}, ""},
		"a pod with the right deletes it":   {request{everywhere, transitions, ofAll, ""}, ""},
		"a user, of all":                    {request{alice, transitions, "", ofAll}, ""},
		"a user deletes one of some node":   {request{alice, transitions, ofB, ""}, ""},
		"an agent, of none that it can say": {request{agentOfA, transitions, "", "{metadata: {}, spec: {}}"}, refusal},
	})
}

// In the reduced variant, agents write Nodes as themselves.
func TestWhichNodesAgentsWriteAsThemselves(t *testing.T) {
	node := func(name, metadata, spec string) string {
		return "{metadata: {name: " + name + metadata + "}, spec: {" + spec + "}}"
	}
	const nodes, cordoned = "nodes", "taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]"
	a, b := node("a", "", ""), node("b", "", "")
	refusals(t, "reduced/nodes.yaml", map[string]refused{
		"cordon its own":          {request{agentOfA, nodes, a, node("a", ", annotations: {slipway.dev/cordons: x}", "unschedulable: true")}, ""},
		"cordon another":          {request{agentOfA, nodes, b, node("b", "", "unschedulable: true")}, "an agent writes the Node"},
		"status of its own":       {request{agentOfA, "nodes/status", a, a}, ""},
		"status of another":       {request{agentOfA, "nodes/status", b, b}, "an agent writes the Node"},
		"with a token of none":    {request{unbound, nodes, a, a}, "an agent writes the Node"},
		"taint":                   {request{agentOfA, nodes, a, node("a", "", "taints: [{key: x, effect: NoExecute}]")}, "spec.taints: agents"},
		"untaint":                 {request{agentOfA, nodes, node("a", "", "taints: [{key: x, effect: NoExecute}]"), a}, "spec.taints: agents"},
		"uncordon with its taint": {request{agentOfA, nodes, node("a", "", "unschedulable: true, "+cordoned), a}, ""},
		"label":                   {request{agentOfA, nodes, a, node("a", ", labels: {x: y}", "")}, "metadata.labels: agents"},
		"a user, anything":        {request{alice, nodes, b, node("b", ", labels: {x: y}", "")}, ""},
	})
}

func TestWhatTheControllerWritesOfNodes(t *testing.T) {
	node := func(metadata, spec, status string) string {
		return "{metadata: {name: a" + metadata + "}, spec: {" + spec + "}, status: {" + status + "}}"
	}
	const (
		nodes, status = "nodes", "nodes/status"
		notReady      = "conditions: [{type: Ready, status: Unknown}, {type: LifecycleTransition, status: 'True'}]"
		ready         = "conditions: [{type: Ready, status: 'True'}]"
	)
	others := ", annotations: {example.com/x: y}"
	a := node("", "", "")
	refusals(t, "controller-nodes.yaml", map[string]refused{
		"cordon":                     {request{controller, nodes, a, node(", annotations: {slipway.dev/cordons: x}", "unschedulable: true", "")}, ""},
		"uncordon":                   {request{controller, nodes, node(", annotations: {slipway.dev/cordons: x}", "unschedulable: true", ""), a}, ""},
		"beside others' annotations": {request{controller, nodes, node(others, "", ""), node(others, "unschedulable: true", "")}, ""},
		"an annotation of others":    {request{controller, nodes, a, node(others, "", "")}, "metadata.annotations: the controller"},
		"take one of others away":    {request{controller, nodes, node(others, "", ""), a}, "metadata.annotations: the controller"},
		"label":                      {request{controller, nodes, a, node(", labels: {x: y}", "", "")}, "metadata.labels: the controller"},
		"taint":                      {request{controller, nodes, a, node("", "taints: [{key: x, effect: NoExecute}]", "")}, "spec.taints: the controller"},
		"a condition of ours": {
			request{controller, status, node("", "", "conditions: [{type: Ready, status: Unknown}]"), node("", "", notReady)}, "",
		},
		"the kubelet's":    {request{controller, status, node("", "", ready), node("", "", notReady)}, "status.conditions: the controller"},
		"capacity":         {request{controller, status, a, node("", "", "capacity: {cpu: '1'}")}, "status: the controller"},
		"a user, anything": {request{alice, nodes, a, node(", labels: {x: y}", "", "")}, ""},
	})
}
