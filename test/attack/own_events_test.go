// SPDX-License-Identifier: Apache-2.0

package attack

// What the agent may not even do to events of its own node.
var onOwnEvents = map[string]attempt{
	"claim in the name of another node":       {agentA, claim(ofA, ofB), byAgentEvents, controller},
	"claim in the name of the controller":     {agentA, claimForTheController(ofA), byAgentEvents, controller},
	"claim as a third-party controller":       {agentA, end(waitingOf(ofA), "Claimed"), byAgentEvents, controller},
	"complete what the controller claimed":    {agentA, end(claimedByTheController, "Succeeded"), byAgentEvents, controller},
	"add a foreign finalizer":                 {agentA, setFinalizers(waitingOf(ofA), "example.com/attack"), byAgentEvents, operator},
	"add a foreign finalizer beside its own":  {agentA, setFinalizers(claimedOf(ofA), "lifecycle.k8s.io/claim-protection", "example.com/attack"), byAgentEvents, operator},
	"cancel an event of its node":             {agentA, deleteClaimed(ofA), byAgentEvents, operator},
	"delete an event that waits":              {agentA, deleteEvent(waitingOf(ofA)), byAgentEvents, operator},
	"open a gate":                             {agentA, patchEvent(waitingOf(ofA), `{"spec":{"gates":null}}`), byAgentEvents, operator},
	"change what is asked of the driver":      {agentA, patchEvent(waitingOf(ofA), parametersPatch(`"hold":true`)), byAgentEvents, operator},
	"label an event":                          {agentA, patchEvent(waitingOf(ofA), `{"metadata":{"labels":{"a":"b"}}}`), byAgentEvents, operator},
	"annotate an event":                       {agentA, patchEvent(waitingOf(ofA), `{"metadata":{"annotations":{"a":"b"}}}`), byAgentEvents, operator},
	"have an event collected with something":  {agentA, patchEvent(waitingOf(ofA), ownerPatch), byAgentEvents, operator},
	"change the spec along with a finalizer":  {agentA, patchEvent(waitingOf(ofA), `{"metadata":{"finalizers":["lifecycle.k8s.io/claim-protection"]},"spec":{"reason":"b"}}`), byAgentEvents, operator},
	"change an event as its node":             {nodeA, patchEvent(waitingOf(ofA), `{"spec":{"reason":"b"}}`), byImpersonation, operator},
	"replace an event instead of patching it": {agentA, replaceEvent(waitingOf(ofA)), byRBAC, operator},
}

const ownerPatch = `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"none","uid":"none"}]}}`

func parametersPatch(fields string) string {
	return `{"spec":{"parameters":{"apiVersion":"slipway.dev/v1alpha1","kind":"DrainParameters",` + fields + `}}}`
}
