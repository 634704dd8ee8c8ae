// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"strings"
	"testing"
)

func TestWhoMakesTheEventsOfShutdowns(t *testing.T) {
	const events, reserved = "lifecycleevents", "metadata: the labels, annotations and finalizers slipway.dev/"
	const (
		plain  = "{metadata: {name: a, finalizers: [x.com/y]}, spec: {}}"
		of     = "{metadata: {name: a, annotations: {slipway.dev/shutdown: s}}, spec: {}}"
		kept   = "{metadata: {name: a, finalizers: [x.com/y, slipway.dev/shutdown]}, spec: {}}"
		both   = "{metadata: {name: a, annotations: {slipway.dev/shutdown: s}, finalizers: [slipway.dev/shutdown]}, spec: {}}"
		slower = "{metadata: {name: a, labels: {x: y}, annotations: {slipway.dev/shutdown: s}, finalizers: [slipway.dev/shutdown, x.com/y]}, spec: {sla: 1s}}"
	)
	refusals(t, "event-records.yaml", map[string]refused{
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
	})
}
