// SPDX-License-Identifier: Apache-2.0

package policies

import "testing"

func TestWhoHasStaticPodsTakenAway(t *testing.T) {
	const (
		nodes, status = "nodes", "nodes/status"
		refusal       = "metadata.annotations: slipway.dev/static-pods and slipway.dev/static-pods-host are written by Slipway"
	)
	kubelet, another := caller{name: "system:node:a"}, caller{name: "system:node:b"}
	detector := caller{name: "system:serviceaccount:kube-system:node-problem-detector", node: "a"}
	host := caller{name: "system:serviceaccount:slipway-system:slipway-host", node: "a"}
	const (
		plain    = "{metadata: {name: a}}"
		wished   = "{metadata: {name: a, annotations: {slipway.dev/static-pods: w}}}"
		more     = "{metadata: {name: a, annotations: {slipway.dev/static-pods: x}}}"
		reported = "{metadata: {name: a, annotations: {slipway.dev/static-pods-host: r}}}"
		both     = "{metadata: {name: a, annotations: {slipway.dev/static-pods: w, slipway.dev/static-pods-host: r}}}"
		labelled = "{metadata: {name: a, labels: {x: y}, annotations: {slipway.dev/static-pods: w, slipway.dev/static-pods-host: r, x: y}}}"
	)
	refusals(t, "static-pods.yaml", map[string]refused{
		"an agent, as its node":               {request{kubelet, nodes, plain, wished}, ""},
		"an agent, as its node, at the end":   {request{kubelet, nodes, both, reported}, ""},
		"slipway-host, as its node":           {request{kubelet, status, wished, both}, ""},
		"a node that registers with it":       {request{kubelet, nodes, "", both}, ""},
		"the controller":                      {request{controller, nodes, plain, wished}, ""},
		"the controller, for a dead agent":    {request{controller, nodes, both, reported}, ""},
		"another node":                        {request{another, nodes, plain, wished}, refusal},
		"another node, what became of it":     {request{another, status, wished, both}, refusal},
		"another node registers it with it":   {request{another, nodes, "", wished}, refusal},
		"an agent, not as its node":           {request{agentOfA, nodes, plain, wished}, refusal},
		"slipway-host, not as its node":       {request{host, status, wished, both}, refusal},
		"who writes the status of all":        {request{detector, status, plain, wished}, refusal},
		"who writes it, what became of it":    {request{detector, status, plain, reported}, refusal},
		"who writes all Nodes, other pods":    {request{detector, nodes, wished, more}, refusal},
		"who writes all Nodes, and it is so":  {request{detector, nodes, both, both}, ""},
		"a user":                              {request{alice, nodes, plain, wished}, refusal},
		"a user takes it back":                {request{alice, nodes, wished, plain}, refusal},
		"a user with another right":           {request{alice.with("open-guards"), nodes, plain, wished}, refusal},
		"a user with the right":               {request{alice.with("override-budgets"), nodes, plain, wished}, ""},
		"a user with the right takes it back": {request{alice.with("override-budgets"), nodes, both, plain}, ""},
		"a user, anything else":               {request{alice, nodes, both, labelled}, ""},
		"a user registers a node":             {request{alice, nodes, "", plain}, ""},
	})
}
