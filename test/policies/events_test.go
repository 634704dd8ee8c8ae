// SPDX-License-Identifier: Apache-2.0

package policies

import "testing"

// event is a LifecycleEvent of node a, with more in its metadata, spec and status.
func event(metadata, spec, status string) string {
	return "{metadata: {name: any" + metadata + "}, spec: {transitionName: drain, bindingNode: a" + spec + "}, status: {claimStatus: " + status + "}}"
}

const (
	events = "lifecycleevents"
	status = "lifecycleevents/status"
)

func TestWhatAgentsMayDoToEvents(t *testing.T) {
	const (
		others     = "spec.bindingNode: an agent works on"
		claimant   = "status.claimedBy: an agent claims"
		unnamed    = "status.claimedBy: an agent sets it"
		finalizers = "metadata.finalizers: agents set and remove"
		metadata   = "metadata: agents do not change"
		parameters = ", parameters: {a: [1, 2.5, {b: null}]}"
	)
	pending, failed := event("", "", "Pending"), event("", "", "Failed")
	claimed := event("", "", "Claimed, claimedBy: {kind: NodeAgent, identity: a}")
	forB := event("", "", "Claimed, claimedBy: {kind: NodeAgent, identity: b}")
	central := event("", "", "Claimed, claimedBy: {kind: Controller, identity: a}")
	thirdParty := event("", "", "Claimed")
	protected := event(", finalizers: [lifecycle.k8s.io/claim-protection]", "", "Pending")
	foreign := event(", finalizers: [example.com/b]", "", "Pending")
	both := event(", finalizers: [example.com/b, lifecycle.k8s.io/claim-protection]", "", "Pending")
	refusals(t, "agent-events.yaml", map[string]refused{
		"create one":             {request{agentOfA, events, "", pending}, "agents do not create"},
		"claim":                  {request{agentOfA, status, pending, claimed}, ""},
		"note why it waits":      {request{agentOfA, status, pending, pending}, ""},
		"fail without a claim":   {request{agentOfA, status, pending, failed}, ""},
		"claim from afar":        {request{agentOfB, status, pending, claimed}, others},
		"claim without a node":   {request{unbound, status, pending, claimed}, "the token of the agent names no node"},
		"claim for another":      {request{agentOfA, status, pending, forB}, claimant},
		"claim centrally":        {request{agentOfA, status, pending, central}, claimant},
		"end what is central":    {request{agentOfA, status, central, central}, claimant},
		"claim as a third party": {request{agentOfA, status, pending, thirdParty}, unnamed},
		"write a third party's":  {request{agentOfA, status, thirdParty, thirdParty}, unnamed},
		"take a third party's":   {request{agentOfA, status, thirdParty, claimed}, unnamed},
		"end a third party's":    {request{agentOfA, status, thirdParty, failed}, unnamed},
		"protect":                {request{agentOfA, events, pending, protected}, ""},
		"protect beside others":  {request{agentOfA, events, foreign, both}, ""},
		"release":                {request{agentOfA, events, protected, pending}, ""},
		"release from afar":      {request{agentOfB, events, protected, pending}, others},
		"protect for others":     {request{agentOfA, events, pending, foreign}, finalizers},
		"release for others":     {request{agentOfA, events, both, protected}, finalizers},
		"protect, with parameters that stay": {
			request{agentOfA, events, event("", parameters, "Pending"), event(", finalizers: [lifecycle.k8s.io/claim-protection]", parameters, "Pending")}, "",
		},
		"protect, with labels that stay": {
			request{agentOfA, events, event(", labels: {a: b}", "", "Pending"), event(", labels: {a: b}, finalizers: [lifecycle.k8s.io/claim-protection]", "", "Pending")}, "",
		},
		"change the spec":     {request{agentOfA, events, pending, event("", ", reason: mine", "Pending")}, "spec: agents do not change"},
		"open a gate":         {request{agentOfA, events, event("", ", gates: [{name: g}]", "Pending"), pending}, "spec: agents do not change"},
		"label":               {request{agentOfA, events, pending, event(", labels: {a: b}", "", "Pending")}, metadata},
		"annotate":            {request{agentOfA, events, pending, event(", annotations: {a: b}", "", "Pending")}, metadata},
		"take away a label":   {request{agentOfA, events, event(", labels: {a: b}", "", "Pending"), pending}, metadata},
		"have it collected":   {request{agentOfA, events, pending, event(", ownerReferences: [{uid: u}]", "", "Pending")}, metadata},
		"delete":              {request{agentOfA, events, failed, ""}, ""},
		"delete from afar":    {request{agentOfB, events, failed, ""}, others},
		"delete too early":    {request{agentOfA, events, claimed, ""}, "status.claimStatus: agents delete"},
		"delete what is new":  {request{agentOfA, events, "{metadata: {}, spec: {bindingNode: a}}", ""}, "status.claimStatus: agents delete"},
		"a user does it all":  {request{alice, events, foreign, event("", ", reason: mine", "Pending")}, ""},
		"the controller does": {request{controller, status, pending, central}, ""},
	})
}
