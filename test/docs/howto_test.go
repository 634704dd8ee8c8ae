// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"strconv"
	"strings"

	"github.com/slipway-k8s/slipway/test/harness"
)

// quickPods makes pods that come from now on end within seconds. A drain or a rollout would
// wait half a minute for them.
const quickPods = "kubectl apply -f - <<'END'\n" + harness.QuickPods + "END"

// hasten does so for the pods that are there.
const hasten = `kubectl rollout restart deployment web
kubectl rollout status deployment web --timeout=4m`

const evictPage = "docs/how-to/evict-a-pod-by-request.md"

// settled waits until nothing moves any more that was in the way of the page before: whether
// a drain would be held up depends on it.
const settled = `kubectl rollout status deployment web --timeout=4m
kubectl rollout status deployment slipway-controller -n slipway-system --timeout=4m
kubectl wait poddisruptionbudget slipway-controller -n slipway-system --for=jsonpath='{.status.disruptionsAllowed}'=1 --timeout=4m`

// heeded installs what a page begins with, and returns when it works: who asks then gives up
// after 30 s without a controller, and two of them have just been replaced.
const heeded = `kubectl slipway install --eviction-requests --maintenance-jobs --yes
kubectl run canary --image=nginx
kubectl wait --for=condition=Ready pod/canary --timeout=4m
kubectl slipway evict canary --wait=false
kubectl wait --for=delete pod/canary --timeout=4m`

// followsTheHowTos: what people are told to type works, in that order.
func (n *newcomer) followsTheHowTos() {
	n.t.Helper()
	n.followed = true
	n.types(hasten)
	n.maintains() // before the evictions: their API group moves that of the events
	for _, guide := range []struct {
		page string
		says []string
	}{
		{"docs/how-to/plan-a-drain.md", []string{"No blockers now.", "REPLACEMENT", `"verdict": "Evict"`, "Nodes for replacements:"}},
		{"docs/how-to/drain-a-node.md", []string{
			"node/worker-1 drained", "node/worker-1 uncordoned", "transitionName: drain.slm.k8s.io", "node/worker-3 drained",
			// What the condition says is without an end of line. Drains say it, too: it counts
			// before what comes next.
			"drain-completelifecycleevent.lifecycle.k8s.io/uncordon-worker-1 created",
		}},
		{"docs/holds.md", []string{"All nodes are in service.", "node/worker-1 uncordoned"}},
		{"docs/how-to/find-out-why-a-drain-is-stuck.md", []string{"PodDisruptionBudget default/cart", "BudgetImpossible"}},
		{"docs/how-to/beside-others.md", []string{"node/worker-1 annotated"}},
		{"docs/how-to/node-leases.md", []string{
			"No lease of a node is held.", "node/worker-1: its lease is free", "new disk", "worker-4 is mine", "its lease is broken",
		}},
		{evictPage, []string{"evicted", "example.com/backup", "the request is withdrawn"}},
		{"docs/how-to/move-single-replicas.md", []string{"AwaitingResponder", "drained", "uncordoned"}},
	} {
		n.types(settled)
		if guide.page == evictPage {
			n.types(heeded)
		}
		screen := n.types(strings.Join(blocks(n.t, guide.page), "\n"))
		n.shows(guide.page, screen, guide.says)
	}
}

// shows wants the screen to show each of the texts.
func (n *newcomer) shows(page, screen string, texts []string) {
	n.t.Helper()
	for _, text := range texts {
		if !strings.Contains(screen, text) {
			n.told.failed(page+": the screen does not show "+strconv.Quote(text), screen)
		}
	}
}
