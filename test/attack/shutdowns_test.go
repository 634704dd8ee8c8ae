// SPDX-License-Identifier: Apache-2.0

package attack

// What a Node says of its machine's shutdown has it drained past the guards, its machine let
// go, and a cordon undone.
var onShutdowns = map[string]attempt{
	"announce the shutdown of any node":            {detector, announceShutdown(ofB), byNodeRecords, nodeB},
	"announce the shutdown of another node":        {nodeA, announceShutdown(ofB), byNodeRestriction, nodeB},
	"announce the shutdown of its node, oneself":   {agentA, announceShutdown(ofA), byRBAC, nodeA},
	"say that any node is drained for a shutdown":  {detector, noteDrain(ofB), byNodeRecords, controller},
	"say that its own is drained for a shutdown":   {nodeA, noteDrain(ofA), byNodeRecords, controller},
	"have any cordon undone as after a shutdown":   {detector, noteDrainInStatus(ofB), byNodeRecords, root},
	"have its cordons undone as after a shutdown":  {nodeA, noteDrainInStatus(ofA), byNodeRecords, root},
	"have the end of any event noted as a drain's": {operator, patchEvent(waitingOf(ofB), `{"metadata":{"annotations":{"slipway.dev/shutdown":"attack"}}}`), byRecords, boss},
}

const (
	announcement = `{"metadata":{"annotations":{"slipway.dev/shutdown":"{\"bootID\":\"attack\",\"since\":\"2026-01-02T03:00:00Z\"}"}}}`
	drainNote    = `{"metadata":{"annotations":{"slipway.dev/shutdown-drain":"{\"shutdown\":\"attack\",\"uid\":\"attack\"}"}}}`
)

// announceShutdown does it as slipway-host does: with the status.
func announceShutdown(of string) try { return patchNode(of, announcement, "status") }

func noteDrain(of string) try { return patchNode(of, drainNote) }

func noteDrainInStatus(of string) try { return patchNode(of, drainNote, "status") }
