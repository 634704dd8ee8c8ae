// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"strings"
	"testing"
)

func TestWhoSaysThatAMachineIsBeingShutDown(t *testing.T) {
	const (
		nodes, status = "nodes", "nodes/status"
		announcing    = "metadata.annotations: slipway.dev/shutdown is written by slipway-host"
		noting        = "metadata.annotations: slipway.dev/shutdown-drain is written by Slipway's controller"
	)
	kubelet, another := caller{name: "system:node:a"}, caller{name: "system:node:b"}
	detector := caller{name: "system:serviceaccount:kube-system:node-problem-detector", node: "a"}
	host := caller{name: "system:serviceaccount:slipway-system:slipway-host", node: "a"}
	const (
		plain     = "{metadata: {name: a}}"
		announced = "{metadata: {name: a, annotations: {slipway.dev/shutdown: s}}}"
		again     = "{metadata: {name: a, annotations: {slipway.dev/shutdown: t}}}"
		noted     = "{metadata: {name: a, annotations: {slipway.dev/shutdown-drain: d}}}"
		both      = "{metadata: {name: a, annotations: {slipway.dev/shutdown: s, slipway.dev/shutdown-drain: d}}}"
		labelled  = "{metadata: {name: a, labels: {x: y}, annotations: {slipway.dev/shutdown: s, slipway.dev/shutdown-drain: d, x: y}}}"
	)
	refusals(t, "shutdowns.yaml", map[string]refused{
		"the node of itself":                    {request{kubelet, status, plain, announced}, ""},
		"the node of itself, by its spec":       {request{kubelet, nodes, plain, announced}, ""},
		"the node, another shutdown":            {request{kubelet, status, announced, again}, ""},
		"the node withdraws it":                 {request{kubelet, status, announced, plain}, ""},
		"the node withdraws what is noted":      {request{kubelet, status, both, noted}, ""},
		"a node that registers with it":         {request{kubelet, nodes, "", announced}, ""},
		"a node that registers":                 {request{kubelet, nodes, "", plain}, ""},
		"another node":                          {request{another, status, plain, announced}, announcing},
		"another node registers it with it":     {request{another, nodes, "", announced}, announcing},
		"who writes the status of all":          {request{detector, status, plain, announced}, announcing},
		"who writes all Nodes":                  {request{detector, nodes, plain, announced}, announcing},
		"who withdraws it":                      {request{detector, status, announced, plain}, announcing},
		"who writes the status, a condition":    {request{detector, status, both, both}, ""},
		"slipway-host, not as its node":         {request{host, status, plain, announced}, announcing},
		"an agent, not as its node":             {request{agentOfA, status, plain, announced}, announcing},
		"the controller withdraws it":           {request{controller, nodes, both, plain}, ""},
		"a user":                                {request{alice, nodes, plain, announced}, announcing},
		"a user with another right":             {request{alice.with("override-budgets"), nodes, plain, announced}, announcing},
		"a user with the right":                 {request{alice.with("open-guards"), nodes, announced, plain}, ""},
		"a user, anything else":                 {request{alice, nodes, both, labelled}, ""},
		"the controller notes its end":          {request{controller, nodes, announced, both}, ""},
		"the controller forgets its end":        {request{controller, nodes, noted, plain}, ""},
		"the node notes its end":                {request{kubelet, status, announced, both}, noting},
		"the node notes its end, with it":       {request{kubelet, status, plain, both}, noting},
		"the node forgets its end":              {request{kubelet, status, both, announced}, noting},
		"a node that registers with its end":    {request{kubelet, nodes, "", both}, noting},
		"who writes the status of all, its end": {request{detector, status, plain, noted}, noting},
		"an agent notes its end":                {request{agentOfA, nodes, announced, both}, noting},
		"a user notes its end":                  {request{alice, nodes, announced, both}, noting},
		"a user with the right forgets its end": {request{alice.with("open-guards"), nodes, noted, plain}, ""},
	})
}

func TestWhoMakesTheEventsOfShutdowns(t *testing.T) {
	const events, reserved = "lifecycleevents", "metadata: annotation and finalizer slipway.dev/shutdown are the controller's"
	const (
		plain  = "{metadata: {name: a, finalizers: [x.com/y]}, spec: {}}"
		of     = "{metadata: {name: a, annotations: {slipway.dev/shutdown: s}}, spec: {}}"
		kept   = "{metadata: {name: a, finalizers: [x.com/y, slipway.dev/shutdown]}, spec: {}}"
		both   = "{metadata: {name: a, annotations: {slipway.dev/shutdown: s}, finalizers: [slipway.dev/shutdown]}, spec: {}}"
		slower = "{metadata: {name: a, labels: {x: y}, annotations: {slipway.dev/shutdown: s}, finalizers: [slipway.dev/shutdown, x.com/y]}, spec: {sla: 1s}}"
	)
	// One whose event has its own name, too.
	kubelet := caller{name: "system:node:a"}
	refusals(t, "shutdowns.yaml", map[string]refused{
		"the controller asks for one":           {request{controller, events, "", both}, ""},
		"the controller lets it go":             {request{controller, events, both, of}, ""},
		"a user, any other event":               {request{alice, events, "", plain}, ""},
		"a user, with the finalizer":            {request{alice, events, "", kept}, reserved},
		"a user, with the annotation":           {request{alice, events, "", of}, reserved},
		"a user makes one of another":           {request{alice, events, plain, kept}, reserved},
		"a user takes the finalizer off":        {request{alice, events, both, of}, reserved},
		"a user makes it that of another":       {request{alice, events, both, strings.Replace(both, ": s}", ": t}", 1)}, reserved},
		"a user, anything else of it":           {request{alice, events, both, slower}, ""},
		"a user with another right":             {request{alice.with("override-budgets"), events, "", both}, reserved},
		"a user with the right":                 {request{alice.with("open-guards"), events, both, plain}, ""},
		"an agent":                              {request{agentOfA, events, plain, both}, reserved},
		"an agent adds its finalizer":           {request{agentOfA, events, both, slower}, ""},
		"a node":                                {request{kubelet, events, plain, of}, reserved},
		"what a Node says of its drain, on one": {request{alice, events, plain, strings.Replace(of, "shutdown:", "shutdown-drain:", 1)}, reserved},
		"the finalizer on a Node is of no use":  {request{alice, "nodes", "{metadata: {name: a}}", kept}, ""},
	})
}
