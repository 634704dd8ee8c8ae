// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"testing"
)

func TestWhoWritesWhichTransitions(t *testing.T) {
	const (
		transitions = "lifecycletransitions"
		ofA         = "{metadata: {name: any}, spec: {nodeName: a}}"
		ofB         = "{metadata: {name: any}, spec: {nodeName: b}}"
		ofAll       = "{metadata: {name: any}, spec: {allNodes: true, driver: d}}"
		slower      = "{metadata: {name: any}, spec: {nodeName: a, driver: d, sla: 1h}}"
		foreign     = "{metadata: {name: any}, spec: {nodeName: a, driver: e}}"
		drainOfA    = "{metadata: {name: drain.slm.k8s.io}, spec: {nodeName: a, driver: d}}"
		marked      = "{metadata: {name: any, annotations: {slipway.dev/registered-centrally: d}}, spec: {allNodes: true, driver: d}}"
		noted       = "{metadata: {name: any, annotations: {example.com/a: b}}, spec: {allNodes: true, driver: d}}"
		refusal     = "spec.nodeName must be the node that the caller's token names"
		onlyTheMark = "metadata.annotations: the controller changes only"
	)
	everywhere := driverOnA.with("publish-everywhere")
	refusals(t, "transitions.yaml", map[string]refused{
		"an agent, of its node":                 {request{agentOfA, transitions, "", ofA}, ""},
		"an agent, of another":                  {request{agentOfA, transitions, "", ofB}, refusal},
		"an agent, of all":                      {request{agentOfA, transitions, "", ofAll}, refusal},
		"an agent of no node":                   {request{unbound, transitions, "", ofA}, refusal},
		"an agent deletes one of its node":      {request{agentOfA, transitions, ofA, ""}, ""},
		"an agent deletes one of another":       {request{agentOfA, transitions, ofB, ""}, refusal},
		"an agent deletes one of all":           {request{agentOfA, transitions, ofAll, ""}, refusal},
		"a driver, of its node":                 {request{driverOnA, transitions, "", ofA}, ""},
		"a driver, of all":                      {request{driverOnA, transitions, "", ofAll}, refusal},
		"a driver changes its own":              {request{driverOnA, transitions, "{metadata: {name: any}, spec: {nodeName: a, driver: d}}", slower}, ""},
		"a driver takes that of another":        {request{driverOnA, transitions, foreign, slower}, "spec.driver: a driver changes no transition"},
		"a driver changes the drain's":          {request{driverOnA, transitions, drainOfA, drainOfA}, "metadata.name: the transitions"},
		"a driver changes one of all":           {request{driverOnA, transitions, ofAll, ofAll}, refusal},
		"a pod with the right, of all":          {request{everywhere, transitions, "", ofAll}, ""},
		"a pod with the right deletes it":       {request{everywhere, transitions, ofAll, ""}, ""},
		"an account's token of no node, of all": {request{driverUnbound, transitions, "", ofAll}, refusal},
		"an account's token of no node, of one": {request{driverUnbound, transitions, "", ofB}, refusal},
		"the garbage collector":                 {request{driverUnbound, transitions, ofB, ""}, ""},
		"a driver, with the name of the drain": {
			request{driverOnA, transitions, "", "{metadata: {name: drain.slm.k8s.io}, spec: {nodeName: a}}"}, "metadata.name: the transitions",
		},
		"a driver, with the name of the way back": {
			request{driverOnA, transitions, "", "{metadata: {name: drain.slm.k8s.io-uncordon}, spec: {nodeName: a}}"}, "metadata.name: the transitions",
		},
		"a driver, with the name of the drain of a shutdown": {
			request{driverOnA, transitions, "", "{metadata: {name: drain.slm.k8s.io-shutdown}, spec: {nodeName: a}}"}, "metadata.name: the transitions",
		},
		"the controller marks one":                {request{controller, transitions, ofAll, marked}, ""},
		"the controller removes the mark":         {request{controller, transitions, marked, ofAll}, ""},
		"the controller annotates one otherwise":  {request{controller, transitions, ofAll, noted}, onlyTheMark},
		"the controller removes an annotation":    {request{controller, transitions, noted, ofAll}, onlyTheMark},
		"the controller changes the nodes of one": {request{controller, transitions, ofA, ofAll}, onlyTheMark},
		"the controller creates one":              {request{controller, transitions, "", ofAll}, onlyTheMark},
		"the controller deletes one":              {request{controller, transitions, ofAll, ""}, onlyTheMark},
		"a user, of all":                          {request{alice, transitions, "", ofAll}, ""},
		"a user deletes one of some node":         {request{alice, transitions, ofB, ""}, ""},
		"an agent, of none that it can say":       {request{agentOfA, transitions, "", "{metadata: {}, spec: {}}"}, refusal},
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
		"taint":                   {request{agentOfA, nodes, a, node("a", "", "taints: [{key: x, effect: NoExecute}]")}, "spec: an agent"},
		"taint like a cordon":     {request{agentOfA, nodes, a, node("a", "", "taints: [{key: node.kubernetes.io/unschedulable, effect: NoExecute}]")}, "spec: an agent"},
		"untaint":                 {request{agentOfA, nodes, node("a", "", "taints: [{key: x, effect: NoExecute}]"), a}, "spec: an agent"},
		"uncordon with its taint": {request{agentOfA, nodes, node("a", "", "unschedulable: true, "+cordoned), node("a", "", cordoned)}, ""},
		"give it an owner":        {request{agentOfA, nodes, a, node("a", ", ownerReferences: [{kind: Node, name: none}]", "")}, "metadata: an agent"},
		"say it is not Ready":     {request{agentOfA, "nodes/status", a, "{metadata: {name: a}, spec: {}, status: {conditions: [{type: Ready, status: 'False'}]}}"}, "status.conditions: an agent"},
		"label":                   {request{agentOfA, nodes, a, node("a", ", labels: {x: y}", "")}, "metadata.labels: an agent"},
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
	const cordoned = "taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]"
	others := ", annotations: {example.com/x: y}"
	a := node("", "", "")
	refusals(t, "controller-nodes.yaml", map[string]refused{
		"cordon":                     {request{controller, nodes, a, node(", annotations: {slipway.dev/cordons: x}", "unschedulable: true", "")}, ""},
		"uncordon":                   {request{controller, nodes, node(", annotations: {slipway.dev/cordons: x}", "unschedulable: true", ""), a}, ""},
		"beside others' annotations": {request{controller, nodes, node(others, "", ""), node(others, "unschedulable: true", "")}, ""},
		"an annotation of others":    {request{controller, nodes, a, node(others, "", "")}, "metadata.annotations: the controller"},
		"take one of others away":    {request{controller, nodes, node(others, "", ""), a}, "metadata.annotations: the controller"},
		"label":                      {request{controller, nodes, a, node(", labels: {x: y}", "", "")}, "metadata.labels: the controller"},
		"keep DaemonSets away":       {request{controller, nodes, a, node(", labels: {slipway.dev/kept-away: daemonsets}", "", "")}, ""},
		"a machine that has booted":  {request{controller, nodes, node(", labels: {slipway.dev/going-down: 'true'}", "", ""), a}, ""},
		"one that does not go down": {
			request{controller, nodes, a, node(", labels: {slipway.dev/going-down: 'true'}", "", "")}, "metadata.labels",
		},
		"let them back":           {request{controller, nodes, node(", labels: {slipway.dev/kept-away: daemonsets}", "", ""), a}, ""},
		"note the end of a drain": {request{controller, nodes, a, node(", annotations: {slipway.dev/shutdown-drain: x}", "", "")}, ""},
		"forget a shutdown":       {request{controller, nodes, node(", annotations: {slipway.dev/shutdown: y, slipway.dev/shutdown-drain: x}", "", ""), a}, ""},
		"take a label away":       {request{controller, nodes, node(", labels: {x: y}", "", ""), a}, "metadata.labels: the controller"},
		"taint":                   {request{controller, nodes, a, node("", "taints: [{key: x, effect: NoExecute}]", "")}, "spec: the controller"},
		"taint like a cordon": {
			request{controller, nodes, a, node("", "taints: [{key: node.kubernetes.io/unschedulable, effect: NoExecute}]", "")}, "spec: the controller",
		},
		"with the taint of a cordon": {
			request{controller, nodes, node("", "unschedulable: true, "+cordoned, ""), node("", cordoned, "")}, "",
		},
		"an owner":     {request{controller, nodes, a, node(", ownerReferences: [{kind: Node, name: none}]", "", "")}, "metadata: the controller"},
		"a finalizer":  {request{controller, nodes, a, node(", finalizers: [example.com/x]", "", "")}, "metadata: the controller"},
		"the provider": {request{controller, nodes, a, node("", "providerID: x", "")}, "spec: the controller"},
		"the kubelet's port": {
			request{controller, status, a, node("", "", "daemonEndpoints: {kubeletEndpoint: {Port: 1}}")}, "status: the controller",
		},
		"a condition of ours": {
			request{controller, status, node("", "", "conditions: [{type: Ready, status: Unknown}]"), node("", "", notReady)}, "",
		},
		"the kubelet's":    {request{controller, status, node("", "", ready), node("", "", notReady)}, "status.conditions: the controller"},
		"capacity":         {request{controller, status, a, node("", "", "capacity: {cpu: '1'}")}, "status: the controller"},
		"a user, anything": {request{alice, nodes, a, node(", labels: {x: y}", "", "")}, ""},
	})
}
